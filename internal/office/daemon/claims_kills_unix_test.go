//go:build unix

package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

var claimKills = flag.Int("claims.kills", 40, "processes with claims that are killed")

// holderVar makes this program a process that holds claims: a victim, as JSON.
const holderVar = "PENNYPOST_TEST_HOLDER"

func TestMain(m *testing.M) {
	var v victim
	if text := os.Getenv(holderVar); text != "" {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if err := v.live(context.Background()); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// victim is a process that holds claims, and is killed.
type victim struct {
	Socket  string
	Dir     string
	Agent   mail.Name
	Session string
	File    string
	// How it holds them: "hook" as an agent's client, through its hook before a write; "take" through pennypost
	// claims take -- COMMAND; "both"; "parent" as a program that starts such a client and outlives it.
	How string

	cmd *exec.Cmd
	out *bufio.Reader
	pid int // the process to kill
	// group means that its whole group is killed.
	group bool
	dead  time.Time
}

// live is the life of the process: it prints its number once it holds its claims, and waits for its end.
func (v *victim) live(ctx context.Context) error {
	if v.How == "parent" {
		v.How = "hook"
		child, err := v.start(false)
		if err == nil {
			line, _ := child.ReadString('\n')
			fmt.Print(line)
			_, err = io.Copy(io.Discard, os.Stdin)
		}
		return err
	}
	office, err := client.New(client.Options{Socket: v.Socket})
	if err != nil {
		return err
	}
	if v.How != "take" {
		for _, event := range []string{`SessionStart","source":"startup"`, `UserPromptSubmit","prompt":"x"`,
			`PreToolUse","tool_name":"Write","tool_use_id":"t1","tool_input":{"file_path":` + strconv.Quote(v.File) + `}`} {
			name, _, _ := strings.Cut(event, `"`)
			a, err := office.Hook(ctx, &wire.Hook{Client: "claude", Event: name, As: string(v.Agent), Room: "shop",
				Dir: v.Dir, Program: process.Self(), Topmost: process.Self(), Input: []byte(fmt.Sprintf(
					`{"session_id":%q,"cwd":%q,"hook_event_name":"%s}`, v.Session, v.Dir, event))})
			if err != nil || strings.Contains(a.Out, "deny") {
				return fmt.Errorf("%s: %s, %w", name, a.Out, err)
			}
		}
	}
	if v.How != "hook" {
		svc, err := office.Room(ctx, "shop", v.Agent)
		if err != nil {
			return err
		}
		got, err := svc.Claim(ctx, mail.ClaimRequest{Words: []string{v.File + ".taken", "build-" + string(v.Agent)},
			Dir: v.Dir, Process: process.Self()})
		if err != nil || len(got.Held) != 2 {
			return fmt.Errorf("claim: %+v, %w", got, err)
		}
	}
	fmt.Println(os.Getpid())
	_, err = io.Copy(io.Discard, os.Stdin) // until the test ends
	return err
}

// start starts the process, in its own group or in that of this one.
func (v *victim) start(own bool) (*bufio.Reader, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	v.cmd = exec.Command(os.Args[0])
	v.cmd.Env = append(os.Environ(), holderVar+"="+string(text))
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: own}
	if _, err = v.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		err = v.cmd.Start()
	}
	v.out = bufio.NewReader(out)
	return v.out, err
}

// TestP15_ClaimsOfTheKilled kills processes that hold claims, at random moments: some alone, some with their whole
// group, some while the program that started them lives on. Their claims are free well within three minutes, and
// others take them; the claims of living processes stay.
func TestP15_ClaimsOfTheKilled(t *testing.T) {
	cfg := testConfig(t)
	cfg.Room.Claims = string(policy.ClaimsRefuse)
	r := start(t, Options{Config: cfg})
	dir := repository(t, homeDir(t))
	random := rand.New(rand.NewPCG(5, 6))
	const most = 40 // at a time
	ways := []string{"hook", "take", "both", "parent"}
	for name, how := range map[mail.Name]string{"neighbour": "hook", "survivor": "both"} {
		v := &victim{Socket: r.place.Socket, Dir: dir, Agent: name, Session: "s-" + string(name), How: how,
			File: filepath.Join(dir, string(name)+".go")}
		r.enlist(t, v)
		if !v.holds(t) {
			t.Fatalf("%s holds nothing", name)
		}
	}
	killed, holding, longest := 0, 0, time.Duration(0)
	for round := 0; killed < *claimKills; round++ {
		var all []*victim
		for i := range min(most, *claimKills-killed) {
			v := &victim{Socket: r.place.Socket, Dir: dir, Agent: mail.Name(fmt.Sprint("a", i)),
				Session: fmt.Sprint("s", round, "-", i), How: ways[random.IntN(4)],
				File: filepath.Join(dir, fmt.Sprint("f", (i+round)%most, ".go")), group: random.IntN(2) == 0}
			r.enlist(t, v)
			all = append(all, v)
		}
		for _, v := range all {
			if random.IntN(4) > 0 || v.How == "parent" { // the others are killed at any point
				want := map[string]int{"hook": 1, "take": 2, "both": 3, "parent": 1}[v.How]
				if came := v.holds(t); !came || len(r.held(t)[v.Agent]) != want {
					t.Errorf("%s, %s: it holds %q, want %d", v.Agent, v.How, r.held(t)[v.Agent], want)
				}
				holding++
			} else {
				time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
			}
			v.kill(t)
			killed++
		}
		longest = max(longest, r.freed(t, all))
	}
	held := r.held(t)
	delete(held, "neighbour") // the first, alone, may hold nothing
	if len(held["survivor"]) < 2 || len(held) != 1 {
		t.Errorf("held is %v, want what the survivor holds alone", held)
	}
	t.Logf("%d were killed, %d of them after they held something; the last claim was free %v later", killed, holding,
		longest)
}

// enlist puts the victim's agent on the roster, as the person may, and starts the process.
func (r *running) enlist(t *testing.T, v *victim) {
	t.Helper()
	r.register(t, "shop", v.Agent)
	_, err := v.start(true)
	must(t, err)
	t.Cleanup(func() { // it may have been killed
		_ = syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL)
		_ = v.cmd.Wait()
	})
}

// holds waits until the process reports that it holds its claims.
func (v *victim) holds(t *testing.T) bool {
	t.Helper()
	line, err := v.out.ReadString('\n')
	if v.pid, _ = strconv.Atoi(strings.TrimSpace(line)); v.pid == 0 {
		t.Logf("%s, %s: %q, %v", v.Agent, v.How, line, err)
	}
	return v.pid != 0
}

// kill kills the process that holds the claims. A separate parent lives on, unless the whole group is killed.
func (v *victim) kill(t *testing.T) {
	t.Helper()
	pid := v.cmd.Process.Pid
	if v.pid != 0 && v.pid != pid && !v.group {
		must(t, syscall.Kill(v.pid, syscall.SIGKILL))
	} else {
		must(t, syscall.Kill(map[bool]int{true: -pid, false: pid}[v.group || v.pid == 0], syscall.SIGKILL))
		_ = v.cmd.Wait() // it was killed
	}
	v.dead = time.Now()
}

// held returns the claims by holder.
func (r *running) held(t *testing.T) map[mail.Name][]string {
	t.Helper()
	list, err := r.room(t, "shop", mail.User).Claims(t.Context(), mail.ClaimQuery{})
	must(t, err)
	held := map[mail.Name][]string{}
	for _, h := range list.Claims {
		held[h.Agent] = append(held[h.Agent], h.Target.String())
	}
	return held
}

// freeWithin is long enough for a busy machine: the post office checks every three seconds. Claims of programs that
// it cannot see end after policy.SessionLapse.
const freeWithin = time.Minute

// freed waits until none of the dead holds anything, and returns an upper bound of how long the last one did.
func (r *running) freed(t *testing.T, dead []*victim) (longest time.Duration) {
	t.Helper()
	for left := dead; len(left) > 0; time.Sleep(50 * time.Millisecond) {
		held, now := r.held(t), time.Now()
		left = left[:0:0]
		for _, v := range dead {
			if len(held[v.Agent]) > 0 {
				left = append(left, v)
				longest = max(longest, now.Sub(v.dead))
			}
		}
		if longest > freeWithin {
			t.Fatalf("%d hold something %v after they were killed: %v", len(left), longest, held)
		}
	}
	return longest
}
