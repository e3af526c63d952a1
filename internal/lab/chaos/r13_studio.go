package chaos

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
)

// A studio's session, and a file of its scene.
const aSession, aSceneFile = "session", "sceneFile"

const studioPath = "/molecular/studio"

// converse opens a session with the receptor and says something, so that each list of a studio has an entry.
func (t *tenant) converse(ctx context.Context) error {
	var session contract.StudioSession
	_, err := t.ask(ctx, t.byKey, http.MethodPost, studioPath+"/sessions",
		map[string]any{"source": "upload:" + t.receptor.key, "title": t.word + " session"}, &session)
	if err != nil {
		return err
	}
	t.note(aSession, session.SessionID)
	t.note(aTitle, t.word+" session")
	for _, structure := range session.Structures {
		t.note(aSceneFile, structure.File)
	}
	_, err = t.ask(ctx, t.byKey, http.MethodPost, studioPath+"/sessions/"+session.SessionID+"/messages",
		map[string]any{"message": "color the protein green"}, nil)
	return err
}

// drawable is a place of a studio's request that names something of an account.
type drawable struct {
	path, place string
	kind        string
	body        func(value string) map[string]any
}

// drawables are all such places.
func (t *trespass) drawables() []drawable {
	member := func(name string) func(string) map[string]any {
		return func(v string) map[string]any { return map[string]any{name: v} }
	}
	sourced := func(prefix, behind string) func(string) map[string]any {
		return func(v string) map[string]any { return map[string]any{"source": prefix + ":" + v + behind} }
	}
	sessions := studioPath + "/sessions"
	all := []drawable{{sessions, "projectId", aProject, member("projectId")}}
	for place, kind := range map[string]string{"upload": aFile, "pose": aPose, "run": aRun, "artifact": anArtifact} {
		all = append(all, drawable{sessions, "source " + place, kind, sourced(place, "")})
		if len(t.spy.owned[aSession]) == 0 {
			continue
		}
		all = append(all, drawable{sessions + "/" + t.spy.owned[aSession][0] + "/messages", "load " + place, kind,
			func(v string) map[string]any {
				return map[string]any{"operations": []any{map[string]any{"op": "load", "args": sourced(place, "")(v)}}}
			}})
	}
	all = append(all, drawable{sessions, "source frame", aJob, sourced("frame", "/1")})
	for _, at := range []string{studioPath + "/renders", studioPath + "/renders/preview"} {
		all = append(all, drawable{at, "scene", aFile, sceneOf})
		for place, kind := range map[string]string{"sessionId": aSession, "projectId": aProject, "poseId": aPose} {
			all = append(all, drawable{at, place, kind, member(place)})
		}
	}
	for place, kind := range map[string]string{"session": aSession, "project": aProject, "pose": aPose, "upload": aFile} {
		export := sourced(place, "")
		all = append(all, drawable{studioPath + "/export", "source " + place, kind, func(v string) map[string]any {
			body := export(v)
			body["format"] = "mvsx"
			return body
		}})
	}
	return all
}

// studio names, as the spy, what the owner has in requests of the studio: nothing is opened, drawn or written of it.
func (t *trespass) studio(ctx context.Context) error {
	var failures []error
	for _, d := range t.drawables() {
		for _, owned := range t.owner.owned[d.kind] {
			if err := t.draws(ctx, d, owned); err != nil {
				failures = append(failures, fmt.Errorf("%s with a foreign %s: %w", d.path, d.place, err))
			}
		}
	}
	return someOf(failures)
}

func (t *trespass) draws(ctx context.Context, d drawable, owned string) error {
	send := func(value string) (Answer, error) {
		return t.spy.byKey.send(ctx, t.world.APIs()[0], http.MethodPost, "/api/v1"+d.path, encode(d.body(value)))
	}
	made := unknown(owned)
	if d.kind == aFile {
		made = owned[:strings.LastIndex(owned, "/")+1] + "no-such-file" + path.Ext(owned)
	}
	foreign, err := send(owned)
	if err != nil {
		return err
	}
	other, err := send(made)
	if err != nil {
		return err
	}
	switch foreign.Status {
	case http.StatusOK: // a message is answered in words
		if foreign.Body, err = worded(foreign); err == nil {
			other.Body, err = worded(other)
		}
		if err != nil {
			return err
		}
	case http.StatusNotFound, http.StatusBadRequest, http.StatusUnprocessableEntity:
	default:
		return fmt.Errorf("answered %s, want that it is not found", foreign)
	}
	foreign.Header.Del("Content-Length") // of the texts before what was asked for is left out
	other.Header.Del("Content-Length")
	return t.alike(without(foreign, owned), without(other, made), []string{owned}, []string{made})
}

// worded is a message's answer without what differs between any two: its id, its time, and that of the scene.
func worded(answer Answer) ([]byte, error) {
	var turn contract.StudioTurn
	if err := answer.read(&turn, http.StatusOK); err != nil {
		return nil, err
	}
	if turn.Changed {
		return nil, fmt.Errorf("the scene has changed: %s", turn.Reply)
	}
	return encode(map[string]any{"reply": turn.Reply, "warnings": turn.Warnings, "notUnderstood": turn.NotUnderstood,
		"sceneVersion": turn.SceneVersion}), nil
}

// sceneOf is a scene that draws a stored file.
func sceneOf(key string) map[string]any {
	node := func(kind string, params map[string]any, children ...any) map[string]any {
		return map[string]any{"kind": kind, "params": params, "children": children}
	}
	drawn := node("component", map[string]any{"selector": "all"},
		map[string]any{"kind": "representation", "params": map[string]any{"type": "cartoon"}})
	return map[string]any{"scene": map[string]any{
		"metadata": map[string]any{"version": "1.8", "timestamp": "2026-01-28T00:00:00Z"},
		"root": map[string]any{"kind": "root", "children": []any{
			node("download", map[string]any{"url": key}, node("parse", map[string]any{"format": "pdb"},
				node("structure", map[string]any{"type": "model"}, drawn))),
		}},
	}}
}
