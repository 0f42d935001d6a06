package fold

import (
	"time"
)

// HandoverTime is how long a message that a session is being told of is not told it again by another call. A hook has
// handed it over, and marked it, within one second, or gives up.
const HandoverTime = 2 * time.Second
