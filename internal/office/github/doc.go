// Package github makes mail of what happens on GitHub: reviews, comments, mentions, and checks that failed or were
// mended. It hears of that by a webhook (Take) or by asking GitHub's own command line, gh (Run); what comes both ways
// is one message. Start at face.go.
//
// What is said there is mail from outside: the sender is mail.GitHub, whom nobody can be, and never the user. Only
// owners, members and collaborators, and checks of the repository's own branches, reach agents: the agent whose
// checkout is on the branch. All else is mail to the person alone.
//
// The payloads are those of https://docs.github.com/en/webhooks/webhook-events-and-payloads and of the REST API,
// version 2022-11-28.
package github
