#!/usr/bin/env python3
# pennypost haak install wrote this (seal 00000000); pennypost haak uninstall takes it out unless it was edited.
"""scripts/agent_@VERB@.py of HAAK, done by Pennypost: the same commands, flags, output and exit status.

It needs Python 3.4 and nothing else. --help lists the commands.
"""

import os
import shutil
import subprocess
import sys

NOTED = @PROGRAM@  # pennypost's path when this was written


def main():
    program = shutil.which("pennypost") or NOTED
    if not os.access(program, os.X_OK):
        sys.exit("agent_@VERB@: pennypost is neither on the PATH nor at " + NOTED + "; nothing was done.\n"
                 "hint: install it, then run: pennypost haak install")
    session = os.environ.get("CLAUDE_CODE_SESSION_ID")
    if session:
        os.environ.setdefault("PENNYPOST_AGENT", session)  # the caller, unless a flag names it
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # the project, which contains data/
    words = [program, "haak", "@VERB@"] + sys.argv[1:]
    if os.name == "nt":
        sys.exit(subprocess.call(words))
    os.execv(program, words)


if __name__ == "__main__":
    main()
