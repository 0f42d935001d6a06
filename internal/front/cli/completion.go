package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/mail"
)

const completionHelp = `Print a script that lets a shell complete commands, flags, agents and rooms.

bash: pennypost completion bash > ~/.local/share/bash-completion/completions/pennypost
zsh:  pennypost completion zsh > "${fpath[1]}/_pennypost"
fish: pennypost completion fish > ~/.config/fish/completions/pennypost.fish`

func newCompletion(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "print a completion script for a shell", Long: completionHelp,
		Example: "source <(pennypost completion bash)", ValidArgs: []string{"bash", "zsh", "fish"},
		Args: NArgs(1, "the name of a shell: bash, zsh or fish"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(a.Env.Stdout, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.Env.Stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.Env.Stdout, true)
			}
			return Usage("%q is not a supported shell; use bash, zsh or fish", args[0])
		},
	}
}

// CompletionPatience is how long a person who pressed Tab waits for the post office.
const CompletionPatience = 300 * time.Millisecond

// CompleteAgent offers the names on the roster. It starts no post office.
func (a *App) CompleteAgent(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, ag := range a.roster(typed) {
		names = append(names, namesOf(&ag)...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// namesOf returns all names of an agent in the form a shell accepts: a tab begins a description.
func namesOf(ag *mail.Agent) (all []string) {
	for _, n := range append([]mail.Name{ag.Name}, ag.Aliases...) {
		all = append(all, strings.ReplaceAll(string(n), "\t", " "))
	}
	return all
}

// CompleteAddress offers names, roles and tags on the roster and the addresses that always exist.
func (a *App) CompleteAddress(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if name, _, far := strings.Cut(typed, "@"); far {
		return a.farAddresses(name, true), cobra.ShellCompDirectiveNoFileComp
	}
	words := []string{"all", "user", "orchestrator"}
	seen := map[string]bool{}
	for _, ag := range a.roster(strings.TrimPrefix(typed, "role:")) {
		words = append(words, namesOf(&ag)...)
		for _, r := range ag.Roles {
			if w := string(mail.RoleAddress(r)); !seen[w] {
				seen[w] = true
				words = append(words, w)
			}
		}
		for _, w := range ag.Tags {
			if !seen[w] {
				seen[w] = true
				words = append(words, w)
			}
		}
	}
	if typed != "" {
		words = append(words, a.farAddresses(typed, false)...)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// farAddresses offers agents of other rooms: to the person those that match the typed text, or have exactly that
// name; to agents, who do not see other rooms' agents, the name in each room.
func (a *App) farAddresses(typed string, exact bool) (words []string) {
	ctx, cancel := context.WithTimeout(context.Background(), CompletionPatience)
	defer cancel()
	_, office, err := a.RunningOffice()
	if err != nil {
		return nil
	}
	here, err := a.RoomName()
	if err != nil {
		return nil
	}
	if who, err := a.Who(); err != nil || who != mail.User {
		if exact {
			rooms, _ := office.Rooms(ctx)
			for i := range rooms {
				words = append(words, typed+"@"+string(rooms[i].Name))
			}
		}
		return words
	}
	all, _ := office.Fleet(ctx, mail.FleetQuery{Part: mail.FleetAgents, Search: typed, Limit: completions})
	for i := range all.Rooms {
		r := &all.Rooms[i]
		for k := range r.Agents.Agents {
			for _, name := range namesOf(&r.Agents.Agents[k]) {
				if r.Room != here && (!exact || name == typed) {
					words = append(words, name+"@"+string(r.Room))
				}
			}
		}
	}
	return words
}

// CompleteTypes offers the types of messages.
func CompleteTypes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, r := range mail.TypeRules() {
		words = append(words, string(r.Type)+"\t"+r.About())
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// CompleteRoom offers the rooms of the post office. It starts no post office.
func (a *App) CompleteRoom(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), CompletionPatience)
	defer cancel()
	_, office, err := a.RunningOffice()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := office.Rooms(ctx)
	var names []string
	for _, r := range list {
		names = append(names, string(r.Name))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// AtOnce asks the room a question for a person who pressed Tab, if a post office runs and answers immediately. It
// starts none.
func AtOnce[T any](a *App, ask func(context.Context, mail.Service) (T, error)) (got T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), CompletionPatience)
	defer cancel()
	if _, _, err := a.RunningOffice(); err != nil {
		return got, err
	}
	svc, err := a.Service(ctx)
	if err != nil {
		return got, err
	}
	return ask(ctx, svc)
}

// completions limits the agents fetched for a person who pressed Tab: a shell shows no more.
const completions = 200

// roster returns agents of the room that match the typed text, nil if they are not known immediately.
func (a *App) roster(typed string) []mail.Agent {
	page, err := AtOnce(a, func(ctx context.Context, svc mail.Service) (mail.AgentList, error) {
		return svc.Agents(ctx, mail.RosterQuery{Search: typed, Limit: completions})
	})
	if err != nil {
		return nil
	}
	return page.Agents
}

// CompleteMessages offers the ids of messages, each with its heading: those that begin with the typed text or, if
// nothing was typed, the newest of the caller's mailbox that fit q.
func (a *App) CompleteMessages(q mail.InboxQuery) cobra.CompletionFunc {
	q.Newest, q.Limit = true, mail.DefaultLimit
	return func(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.someIDs(given, typed, func(ctx context.Context, svc mail.Service) (mail.Page, error) {
			if typed == "" {
				return svc.Inbox(ctx, q)
			}
			page, err := svc.History(ctx, mail.HistoryQuery{ID: typed})
			slices.Reverse(page.Messages)
			return page, err
		})
	}
}

// CompleteOwnQuestions offers the caller's own open questions.
func (a *App) CompleteOwnQuestions(_ *cobra.Command, given []string, typed string) ([]string,
	cobra.ShellCompDirective) {
	return a.someIDs(given, typed, func(ctx context.Context, svc mail.Service) (mail.Page, error) {
		who, err := a.Who()
		if err != nil {
			return mail.Page{}, err
		}
		return svc.History(ctx, mail.HistoryQuery{ID: typed, Open: true, From: string(who)})
	})
}

// someIDs offers the ids of the messages that list returns.
func (a *App) someIDs(given []string, typed string, list func(context.Context, mail.Service) (mail.Page, error)) (
	words []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	page, err := AtOnce(a, list)
	if err != nil {
		return nil, directive
	}
	for i := range page.Messages {
		it := &page.Messages[i]
		id := string(it.ID)
		if !strings.HasPrefix(id, typed) {
			id = strings.TrimPrefix(id, "msg_") // as the person began it
		}
		if !slices.Contains(given, id) {
			words = append(words, id+"\t"+strings.ReplaceAll(Sender(&it.Message, mail.MaxName)+": "+Heading(it), "\t",
				" "))
		}
	}
	return words, directive
}
