package postgres

import (
	"testing"

	"github.com/belayrun/belay/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
