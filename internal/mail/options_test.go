package mail

import (
	"reflect"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	long := strings.Repeat("x", maxOption+1)
	for in, want := range map[string][]Option{
		``:                               nil,
		`{}`:                             nil,
		`{"options":null}`:               nil,
		`{"options":"Yes"}`:              nil,
		`{"options":{"a":"b"}}`:          nil,
		`{"Options":["Yes"]}`:            nil,
		`{"options":["Yes","No"]}`:       {{Answer: "Yes"}, {Answer: "No"}},
		`{"options":["Yes","Yes","No"]}`: {{Answer: "Yes"}, {Answer: "No"}},
		`{"options":["Yes",5,true,null,["No"],{"x":1}," ","\u200b","a\u0000b",""]}`: {{Answer: "Yes"}},
		`{"options":[{"label":"Yes","description":"Now"},{"label":"No","extra":[1]}]}`: {{Answer: "Yes",
			Note: "Now"}, {Answer: "No"}},
		`{"options":["` + long + `","fits"]}`:                        {{Answer: "fits"}},
		`{"options":[{"label":"Yes","description":"` + long + `"}]}`: {{Answer: "Yes"}},
		`{"options":["Ja\nnein"],"other":{"options":[]}}`:            {{Answer: "Ja\nnein"}},
		`not JSON`: nil,
	} {
		if got := Metadata(in).Options(); !reflect.DeepEqual(got, want) {
			t.Errorf("options of %s = %v, want %v", in, got, want)
		}
	}
	many := `{"options":["1","2","3","4","5","6","7","8","9","10","11","12","13","14"]}`
	if got := Metadata(many).Options(); len(got) != maxOptions {
		t.Errorf("of 14 options %d are offered, want %d", len(got), maxOptions)
	}
}
