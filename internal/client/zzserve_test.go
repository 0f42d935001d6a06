package client
import ("testing";"os";"time")
func TestZZServe(t *testing.T){ o := newRooms(t); for range 20 {o.send("hello")}; s := serve(t,o); os.Remove("/tmp/pp/sock"); os.Symlink(s,"/tmp/pp/sock"); time.Sleep(20*time.Second)}
