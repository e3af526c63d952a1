package object_test
import ("testing";"time";"net/http";"github.com/molfabric/molfabric/internal/object/objecttest")
func TestDbg(t *testing.T){
	store, _ := objecttest.New(t)
	put(t, store, "key", "x")
	for i:=0;i<4;i++{
	read, _ := store.PresignGet(t.Context(), "key", "x", time.Second)
	s,b,_ := send(t, http.MethodGet, read, "", nil)
	t.Log(time.Now().Format(".000"), s,b)
	time.Sleep(300*time.Millisecond)
	}
}
