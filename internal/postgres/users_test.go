package postgres_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func (b *bed) member(email string, role agent.MemberRole) agent.Member {
	b.t.Helper()
	m, made, err := b.AddMember(b.ctx, agent.Member{Project: project, Role: role, User: agent.User{ID: agent.NewID(), Email: email}}, "hash of "+email)
	b.check(err)
	if !made {
		b.t.Errorf("%s is there already", email)
	}
	return m
}

func TestAMemberIsAddedOnceAndKeepsItsAccount(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	ann := b.member("ann@x.test", agent.RoleOwner)
	other := agent.Member{Project: project, Role: agent.RoleViewer, User: agent.User{ID: agent.NewID(), Email: "ann@x.test"}}
	_, _, err := b.AddMember(b.ctx, other, "another")
	b.is(err, agent.ErrExists)
	other.Project = "nowhere"
	other.Email = "new@x.test"
	_, _, err = b.AddMember(b.ctx, other, "another")
	b.is(err, agent.ErrNotFound)
	b.exec("INSERT INTO projects (id, key) VALUES ('p2', 'second')")
	other.Project, other.Email = "p2", "ann@x.test"
	got, made, err := b.AddMember(b.ctx, other, "another")
	b.check(err)
	if made || got.ID != ann.ID {
		t.Errorf("got %+v, made %v", got, made)
	}
	_, hash, err := b.UserByEmail(b.ctx, "ann@x.test")
	b.check(err)
	if hash != "hash of ann@x.test" {
		t.Errorf("hash %q", hash)
	}
	list, err := b.Memberships(b.ctx, ann.ID)
	b.check(err)
	if want := []agent.Membership{{Project: project, Key: "default", Role: agent.RoleOwner}, {Project: "p2", Key: "second", Role: agent.RoleViewer}}; !slices.Equal(list, want) {
		t.Errorf("memberships %+v", list)
	}
}

// Two owners who demote each other at once: one of them stays.
func TestAProjectKeepsAnOwner(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for range 10 {
		ann, bob := b.member(agent.NewID()+"@x.test", agent.RoleOwner), b.member(agent.NewID()+"@x.test", agent.RoleOwner)
		var wg sync.WaitGroup
		for _, m := range []agent.Member{ann, bob} {
			wg.Go(func() { _, _ = b.SetRole(b.ctx, project, m.ID, agent.RoleViewer) })
			wg.Go(func() { _ = b.RemoveMember(b.ctx, project, m.ID) })
		}
		wg.Wait()
		if n := b.count("SELECT count(*) FROM memberships WHERE role = 'owner' AND removed_at IS NULL"); n != 1 {
			t.Fatalf("%d owners", n)
		}
		b.exec("UPDATE memberships SET removed_at = now()")
	}
	_, err := b.SetRole(b.ctx, project, "nobody", agent.RoleViewer)
	b.is(err, agent.ErrNotFound)
	b.check(b.RemoveMember(b.ctx, project, "nobody"))
}

func TestWhoWasRemovedKeepsHisNameAndMayComeBack(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.member("owner@x.test", agent.RoleOwner)
	ann := b.member("ann@x.test", agent.RoleViewer)
	b.check(b.RemoveMember(b.ctx, project, ann.ID))
	list, err := b.Members(b.ctx, project)
	b.check(err)
	if len(list) != 1 || list[0].Email != "owner@x.test" {
		t.Errorf("members %+v", list)
	}
	names, err := b.Names(b.ctx, project, []string{ann.Principal(), "token:x", "user:x", "apply"})
	b.check(err)
	if len(names) != 1 || names[ann.Principal()] != (agent.Named{ID: ann.Principal(), Kind: "user", Name: "ann@x.test"}) {
		t.Errorf("names %+v", names)
	}
	back, made, err := b.AddMember(b.ctx, agent.Member{Project: project, Role: agent.RoleBuilder, User: agent.User{Email: "ann@x.test"}}, "")
	b.check(err)
	if made || back.ID != ann.ID || back.Role != agent.RoleBuilder {
		t.Errorf("back %+v", back)
	}
}

func TestASignInLivesWhileItIsUsed(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	ann := b.member("ann@x.test", agent.RoleViewer)
	hash := bytes.Repeat([]byte{7}, 32)
	const idle, most = time.Hour, 24 * time.Hour
	b.check(b.CreateSignIn(b.ctx, ann.ID, hash, idle))
	b.exec("UPDATE sign_ins SET expires_at = now() + interval '10 minutes', created_at = now() - interval '10 hours'")
	in, err := b.SignInByHash(b.ctx, hash, idle, most)
	b.check(err)
	if left := time.Until(in.ExpiresAt); left < 50*time.Minute || in.User.Email != "ann@x.test" || in.Current.Role != agent.RoleViewer {
		t.Errorf("%+v, %v left", in, left)
	}
	if n := b.count("SELECT count(*) FROM sign_ins WHERE expires_at > now() + interval '50 minutes'"); n != 1 {
		t.Error("its use did not keep it alive")
	}
	b.exec("UPDATE sign_ins SET created_at = now() - interval '23 hours 50 minutes', expires_at = now() + interval '5 minutes'")
	in, err = b.SignInByHash(b.ctx, hash, idle, most)
	b.check(err)
	if left := time.Until(in.ExpiresAt); left > 15*time.Minute {
		t.Errorf("it lives beyond the most: %v", left)
	}
	b.exec("UPDATE sign_ins SET expires_at = now() - interval '1 second'")
	_, err = b.SignInByHash(b.ctx, hash, idle, most)
	b.is(err, agent.ErrNotFound)
	b.check(b.CreateSignIn(b.ctx, ann.ID, bytes.Repeat([]byte{8}, 32), idle))
	if n := b.count("SELECT count(*) FROM sign_ins"); n != 1 {
		t.Errorf("%d sign-ins: the one that is over is kept", n)
	}
}

func TestASignInEndsWithItsPasswordAndItsMembership(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.member("owner@x.test", agent.RoleOwner)
	ann := b.member("ann@x.test", agent.RoleViewer)
	one, two := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	for _, hash := range [][]byte{one, two} {
		b.check(b.CreateSignIn(b.ctx, ann.ID, hash, time.Hour))
	}
	b.check(b.SetPassword(b.ctx, ann.ID, "new", one))
	_, err := b.SignInByHash(b.ctx, two, time.Hour, time.Hour)
	b.is(err, agent.ErrNotFound)
	_, err = b.SignInByHash(b.ctx, one, time.Hour, time.Hour)
	b.check(err)
	b.is(b.SelectProject(b.ctx, one, "p2"), agent.ErrNotFound)
	b.check(b.RemoveMember(b.ctx, project, ann.ID))
	_, err = b.SignInByHash(b.ctx, one, time.Hour, time.Hour)
	b.is(err, agent.ErrNotFound)
	b.is(b.SetPassword(b.ctx, "nobody", "x", nil), agent.ErrNotFound)
}

// Attempts that come all at once are all counted, on whatever node.
func TestAttemptsAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	keys := [][]byte{{1}, {2}, {3}}
	var mu sync.Mutex
	most := 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			mine := slices.Clone(keys)
			if i%2 == 0 {
				slices.Reverse(mine)
			}
			failed, over, err := b.CountAttempt(b.ctx, mine, time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || over <= 0 || over > time.Minute {
				t.Errorf("%v, %v", over, err)
			}
			most = max(most, failed[string([]byte{1})])
		})
	}
	wg.Wait()
	if most != 20 {
		t.Errorf("%d of 20 counted", most)
	}
	b.check(b.ForgiveAttempt(b.ctx, keys, keys[:1]))
	failed, _, err := b.CountAttempt(b.ctx, keys, time.Minute)
	b.check(err)
	if failed["\x01"] != 1 || failed["\x02"] != 20 {
		t.Errorf("after one succeeded: %v", failed)
	}
	b.exec("UPDATE sign_in_failures SET since = now() - interval '2 minutes'")
	failed, _, err = b.CountAttempt(b.ctx, [][]byte{{9}, {2}}, time.Minute)
	b.check(err)
	if failed["\x02"] != 1 || b.count("SELECT count(*) FROM sign_in_failures") != 2 {
		t.Errorf("in a new window: %v", failed)
	}
}
