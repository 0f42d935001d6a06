// Script additions to the pages: keys, live lists, dialogs. Everything can be read without them.
import "./live.js";
import "./list.js";
import "./select.js";
import "./keys.js";
import "./dialogs.js";
import "./drafts.js";
import "./text.js";
import "./talk.js";
import "./compose.js";
import "./triage.js";
import "./strip.js";
import "./flow.js";
import "./scope.js";
import "./palette.js";
import "./notify.js";
import "./install.js";
import "./away.js";

