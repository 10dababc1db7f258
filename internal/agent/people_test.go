package agent

import "testing"

func TestVisitorsAreNamedByWhatIsKnownOfThem(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]Named{
		"visitor:desk:user:u-1":         {Kind: "visitor", Name: "visitor u-1 of desk"},
		"visitor:desk:user:a:b":         {Kind: "visitor", Name: "visitor a:b of desk"},
		"visitor:desk:6b0ea9c8d6741234": {Kind: "visitor", Name: "visitor 1234 of desk"},
		"visitor:desk:x":                {Kind: "visitor", Name: "visitor x of desk"},
		"visitor:desk":                  {Kind: "visitor", Name: "visitor:desk"},
		"token:7":                       {Kind: "token", Name: "token:7"},
		"belay":                         {Kind: "system", Name: "belay"},
	} {
		want.ID = id
		if got := Unnamed(id); got != want {
			t.Errorf("Unnamed(%q) = %+v, want %+v", id, got, want)
		}
	}
}
