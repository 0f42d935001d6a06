#!/bin/sh
# Installs Pennypost for you alone, without root: the programs of a release whose checksums it compares.
#
#   curl -fsSL https://ADDRESS/releases/latest/download/install.sh | sh
#   sh install.sh [--version V] [--to DIR] [--from ADDRESS]        --help says more
#
# Nothing runs before the shell has read the last line, so a script that was cut off on its way does nothing.
{
set -eu

# home is where releases are; scripts/rename-module writes it. Without it --from is needed.
home=

usage() {
  cat <<END
usage: sh install.sh [--version V] [--to DIR] [--from ADDRESS]

Installs pennypost, pennypostd and pennypost-nats of a release, for you alone. It looks which system this is, downloads the
archive and SHA256SUMS, compares the checksum before anything is unpacked, and puts the programs into DIR. It
changes no file of your shell, starts nothing and needs no root. After any error nothing is left behind.

  --version V     that release, such as v1.2.3; otherwise the newest
  --to DIR        where the programs go; otherwise ~/.local/bin
  --from ADDRESS  where the files of the release are: a directory, or an address that begins with https://
                  (http:// on this machine only); otherwise ${home:-not known yet: nothing has been released}

The programs lie in DIR/.pennypost/VERSION, and DIR has links to them, so that all change at once and the
version before stays. To undo it: pennypost remove, then rm -rf DIR/.pennypost and the three links in DIR
END
}

die() {
  died=yes
  printf 'install.sh: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
  printf 'Nothing was installed.\n' >&2
  exit 1
}

# quoted prints a word as a shell takes it.
quoted() {
  case $1 in
    *[!a-zA-Z0-9/._-]*) printf "'"; printf %s "$1" | sed "s/'/'\\\\''/g"; printf "'" ;;
    *) printf %s "$1" ;;
  esac
}

# system sets $system to the one that releases name, such as linux_amd64.
system() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN*) die "this script is not for Windows" "unpack pennypost_VERSION_windows_amd64.zip" ;;
    *) die "there is no release for $(uname -s)" "build it from its source, with Go: scripts/build" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "there is no release for $os on $(uname -m)" "build it from its source, with Go: scripts/build" ;;
  esac
  # A shell that Rosetta translates takes the machine for an Intel.
  if [ "$os" = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then arch=arm64; fi
  system=${os}_$arch
}

# fetch FILE: gets a file of the release into $part.
fetch() {
  case $from in
    https://*) download "$from/$1" "$part/$1" https ;;
    http://127.0.0.1[:/]* | http://localhost[:/]* | "http://[::1]"[:/]*) download "$from/$1" "$part/$1" http ;;
    http://*) die "$from could be changed on its way: use https://" ;;
    *) [ -f "${from#file://}/$1" ] || die "$1 is not in ${from#file://}"
      cp "${from#file://}/$1" "$part/$1" 2>"$part/error" || die "$1 could not be copied: $(cat "$part/error")" ;;
  esac
}

# download ADDRESS FILE SCHEME
download() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL --proto "=$3" --retry 2 -o "$2" "$1" 2>"$part/error"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1" 2>"$part/error"
  else
    die "neither curl nor wget is here" "install one, or download the release yourself and say --from DIRECTORY"
  fi || die "$1 could not be downloaded: $(tail -n 1 "$part/error")"
}

# sum FILE: its SHA-256.
sum() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum <"$1"
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 <"$1"
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r <"$1"
  else die "neither sha256sum nor shasum nor openssl is here, so the download cannot be checked"
  fi | cut -d ' ' -f 1
}

# check sets $name to the release's archive for this system and $version to its version, once its checksum is right.
check() {
  fetch SHA256SUMS
  name=$(sed -n "s/^[0-9a-f]\{64\}  \(pennypost_[0-9A-Za-z.-]*_$system\)\.tar\.gz\$/\1/p" "$part/SHA256SUMS")
  case $name in
    '') die "the release at $from has nothing for $system" ;;
    *[!0-9A-Za-z._-]*) die "SHA256SUMS at $from names more than one archive for $system" ;;
  esac
  found=${name#pennypost_}
  found=v${found%_"$system"}
  [ "${version:-$found}" = "$found" ] || die "what is at $from is $found, and not $version"
  version=$found
  fetch "$name.tar.gz"
  want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$part/SHA256SUMS")
  got=$(sum "$part/$name.tar.gz")
  [ "$got" = "$want" ] ||
    die "$name.tar.gz is not what was released: its SHA-256 is $got, and SHA256SUMS says $want" "try again; if it \
stays so, somebody has changed it"
}

# swap LINK TARGET: a link to a directory is replaced at once, and nobody sees none.
swap() {
  rm -f "$part/link"
  ln -s "$2" "$part/link"
  mv -fT "$part/link" "$1" 2>/dev/null || mv -fh "$part/link" "$1" 2>/dev/null || # GNU, and BSD
    { rm -f "$1" && mv "$part/link" "$1"; }
}

# put moves what was unpacked to its place. The link "current" decides which version runs: setting it is the last step.
put() {
  for program in pennypost pennypostd pennypost-nats; do
    at=$to/$program
    case $(readlink "$at" 2>/dev/null) in
      .pennypost/current/"$program") ;;
      *) if [ -e "$at" ] || [ -L "$at" ]; then
          die "$at is there, and not from this script" "pennypost update, if it is Pennypost's; else move it away"
        fi
        ln -s ".pennypost/current/$program" "$at"
        links="$links $program" ;;
    esac
  done
  old=$(readlink "$store/current" 2>/dev/null) || old=
  if [ -e "$store/$version" ]; then mv "$store/$version" "$part/old"; fi
  unpacked=$store/$version
  mv "$part/$name" "$unpacked"
  if [ -n "$old" ] && [ "$old" != "$version" ]; then
    older=$(readlink "$store/previous" 2>/dev/null) || older=none
    swap "$store/previous" "$old"
  fi
  swap "$store/current" "$version"
  done=yes
  for dir in "$store"/v*; do
    case ${dir##*/} in "$version" | "$(readlink "$store/previous")") ;; *) rm -rf "$dir" ;; esac
  done
}

# clean takes back what was done, unless all of it was.
# shellcheck disable=SC2317 # a trap calls it
clean() {
  set +e
  if [ -z "$done" ]; then
    [ -n "$died" ] || echo "install.sh: it was ended early. Nothing was installed." >&2
    for program in $links; do rm -f "$to/$program"; done
    if [ -n "$unpacked" ]; then
      rm -rf "$unpacked"
      if [ -e "$part/old" ]; then mv "$part/old" "$unpacked"; fi
    fi
    case $older in
      '') ;;
      none) rm -f "$store/previous" ;;
      *) swap "$store/previous" "$older" ;;
    esac
  fi
  [ -z "$part" ] || rm -rf "$part"
  dir=$store
  while [ -z "$done" ] && [ -n "$made" ] && rmdir "$dir" 2>/dev/null && [ "$dir" != "$made" ]; do
    dir=${dir%/*}
  done
}

# hidden prints the program that the shell finds in place of ours, if it does.
hidden() {
  hides=$(command -v pennypost 2>/dev/null) || return 0
  case $hides in "$to/pennypost") return 0 ;; esac
  [ "$(readlink "$hides" 2>/dev/null)" = "$to/pennypost" ] || printf %s "$hides"
}

# path says what puts $to on the PATH, at once and for good.
path() {
  case ":$PATH:" in *":$to:"*) echo "It is on your PATH." && return ;; esac
  line="export PATH=\"$(printf %s "$to" | sed 's/[\\"$`]/\\&/g'):\$PATH\""
  echo "The shell does not find them yet. Type this:"
  echo
  case ${SHELL:-} in
    */fish) echo "    fish_add_path $(quoted "$to")" ;;
    */zsh) echo "    echo '$(printf %s "$line" | sed "s/'/'\\\\''/g")' >> ~/.zshrc && . ~/.zshrc" ;;
    */bash) echo "    echo '$(printf %s "$line" | sed "s/'/'\\\\''/g")' >> ~/.bashrc && . ~/.bashrc" ;;
    *) echo "    echo '$(printf %s "$line" | sed "s/'/'\\\\''/g")' >> ~/.profile && . ~/.profile" ;;
  esac
  echo
}

main() {
  version='' to='' from='' chosen='' store='' part=''
  links='' unpacked='' older='' made='' done='' died=''
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage && return ;;
      --version | --to | --from) [ -n "${2:-}" ] || die "$1 needs a value" "sh install.sh --help" ;;
      *) die "$1 is not known" "sh install.sh --help" ;;
    esac
    case $1 in --version) version=v${2#v} ;; --to) to=$2 chosen=yes ;; --from) from=${2%/} ;; esac
    shift 2
  done
  case $version in *[!0-9A-Za-z.-]*) die "$version is no version, such as v1.2.3" ;; esac
  [ -n "$from$home" ] || die "there is no release yet, so there is no address" "sh install.sh --from DIRECTORY"
  [ -n "$from" ] || from=$home/releases/${version:+download/$version}
  case $from in */releases/) from=${from}latest/download ;; esac
  [ -n "$to${HOME:-}" ] || die "HOME is not set" "say where to: --to DIR"
  to=${to:-$HOME/.local/bin}
  case $to in /*) ;; *) to=$PWD/$to ;; esac
  to=${to%/}
  system
  hides=$(hidden)
  if [ -n "$hides" ] && [ -z "$chosen" ]; then
    die "there is a pennypost at $hides, which would hide the one in $to or be hidden by it" "update that one: \
pennypost update; or remove it first; or say --to DIR to have both"
  fi

  store=$to/.pennypost made=$store
  trap clean EXIT
  trap 'exit 130' HUP INT TERM
  if [ -d "$store" ]; then made=''; fi
  while [ -n "$made" ] && [ ! -d "${made%/*}/" ]; do made=${made%/*}; done
  error=$(mkdir -p "$store" 2>&1) || die "$to cannot be written to: $error" "say where to: --to DIR"
  part=$store/part.$$
  error=$(mkdir "$part" 2>&1) || { part='' && die "$to cannot be written to: $error" "say where to: --to DIR"; }

  check
  error=$(tar -xzf "$part/$name.tar.gz" -C "$part" 2>&1) || die "$name.tar.gz cannot be unpacked: $error"
  for program in pennypost pennypostd pennypost-nats; do
    error=$("$part/$name/$program" --version 2>&1) || die "$program of $version does not run here: $error"
  done
  put
  echo "Installed $version: pennypost, pennypostd and pennypost-nats in $to."
  if [ -n "$old" ] && [ "$old" != "$version" ]; then
    echo "The version before, $old, is kept. A post office that runs goes on in it until: pennypost stop"
  fi
  path
  [ -z "$hides" ] || echo "Your shell finds another pennypost first, or would without this one: $hides" >&2
  echo "Then: pennypost setup"
}

main "$@"
exit
}
