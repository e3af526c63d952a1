package picture

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func (o *Options) readAnimation(name, text string) (err error) {
	o.animation, err = oneOf(name, text, None, States, Timeline, Turntable)
	return err
}

func (o *Options) readTurntableFrames(name, text string) error {
	count, err := strconv.Atoi(text)
	if err != nil || count < MinTurntableFrames || count > MaxTurntableFrames {
		return invalid(name, "is %s; must be a whole number of %d to %d frames for the whole turn", quoted(text),
			MinTurntableFrames, MaxTurntableFrames)
	}
	o.turntableFrames = count
	return nil
}

func (o *Options) readBackground(name, text string) error {
	if !colour.MatchString(text) {
		return invalid(name, "is %s; must be a colour as #rrggbb, e.g. #ffffff", quoted(text))
	}
	o.Background = strings.ToLower(text)
	return nil
}

func (o *Options) readFormat(name, text string) (err error) {
	o.Format, err = oneOf(name, text, PNG, JPEG, EXR)
	return err
}

func (o *Options) readVideo(name, text string) (err error) {
	o.video, err = oneOf(name, text, NoVideo, MP4, WebM)
	return err
}

func (o *Options) readFloor(name, text string) (err error) {
	o.Floor, err = oneOf(name, text, NoFloor, ShadowFloor)
	return err
}

func (o *Options) readDevice(name, text string) (err error) {
	o.Device, err = oneOf(name, text, DeviceCPU, DeviceCUDA, DeviceOptiX, DeviceHIP)
	return err
}

func (o *Options) readCamera(name, text string) error {
	if text == "" || len(text) > maxCameraBytes || strings.ContainsFunc(text,
		func(r rune) bool { return r < ' ' || r == '\uFFFD' }) {
		return invalid(name, "is %s; must be the name of a camera of the scene, of 1 to %d bytes", quoted(text), maxCameraBytes)
	}
	o.Camera = text
	return nil
}

func readBool(name, text string, target *bool) error {
	found, err := oneOf(name, text, "true", "false")
	*target = found == "true"
	return err
}

func readOptional(name, text string, target **bool) error {
	*target = new(bool)
	return readBool(name, text, *target)
}

// oneOf finds the text among the allowed ones, in whatever case it is written.
func oneOf(name, text string, allowed ...string) (string, error) {
	at := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, text) })
	if at < 0 {
		last := len(allowed) - 1
		return "", invalid(name, "is %s; must be %s or %s", quoted(text), strings.Join(allowed[:last], ", "), allowed[last])
	}
	return allowed[at], nil
}
