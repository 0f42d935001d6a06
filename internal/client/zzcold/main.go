package main
import ("context";"fmt";"os";"pennypost/internal/client";"pennypost/internal/mail")
func main(){
 o,err := client.New(client.Options{Socket: os.Args[1]}); if err!=nil{panic(err)}
 r,_ := o.Room(context.Background(),"lab","bob")
 p,err := r.Inbox(context.Background(), mail.InboxQuery{})
 fmt.Println(len(p.Messages), err)
}
