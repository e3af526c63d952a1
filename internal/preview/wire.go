package preview

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// A message is the length of a JSON document (32 bits, big endian), the document, and bytes: a scene or a picture.

const (
	lengthBytes = 4
	// maxDocumentBytes bounds the document: a message for people is its longest member.
	maxDocumentBytes = 16 << 10
	// maxWordsBytes bounds a message for people.
	maxWordsBytes = 2000
)

// asked is what of a request goes before its scene.
type asked struct {
	// Picture is where the answer goes. Nobody but who has taken the request knows it, so nobody else can answer.
	Picture      string `json:"picture"`
	AccountID    string `json:"accountId"`
	Format       string `json:"format"`
	WidthPixels  int    `json:"widthPixels"`
	HeightPixels int    `json:"heightPixels"`
	Transparent  bool   `json:"transparent"`
}

// answered is what of an answer goes before its picture, of which there is none unless both members are empty.
type answered struct {
	Refused     string        `json:"refused,omitempty"`
	Unavailable string        `json:"unavailable,omitempty"`
	RetryAfter  time.Duration `json:"retryAfter,omitempty"`
}

func pack(document any, content []byte) ([]byte, error) {
	head, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	message := make([]byte, 0, lengthBytes+len(head)+len(content))
	message = binary.BigEndian.AppendUint32(message, uint32(len(head)))
	return append(append(message, head...), content...), nil
}

var errUnreadable = errors.New("a message of previews cannot be read")

func unpack(message []byte, document any) (content []byte, err error) {
	if len(message) < lengthBytes {
		return nil, errUnreadable
	}
	length := int64(binary.BigEndian.Uint32(message))
	if length > maxDocumentBytes || length > int64(len(message)-lengthBytes) {
		return nil, errUnreadable
	}
	if err := json.Unmarshal(message[lengthBytes:lengthBytes+length], document); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return message[lengthBytes+length:], nil
}

// packAnswer is the message for a picture or for the error that stands in its place.
func packAnswer(png []byte, drawing error) ([]byte, error) {
	var refused *RefusedError
	var unavailable *UnavailableError
	switch {
	case drawing == nil && len(png) <= MaxPictureBytes:
		return pack(answered{}, png)
	case errors.As(drawing, &refused):
		return pack(answered{Refused: words(refused.Message)}, nil)
	case errors.As(drawing, &unavailable):
		return pack(answered{Unavailable: words(unavailable.Reason), RetryAfter: unavailable.RetryAfter}, nil)
	}
	return pack(answered{Unavailable: "The renderer failed.", RetryAfter: retryLost}, nil)
}

func unpackAnswer(message []byte) (png []byte, err error) {
	var head answered
	content, err := unpack(message, &head)
	switch {
	case err != nil:
		return nil, err
	case head.Refused != "":
		return nil, &RefusedError{words(head.Refused)}
	case head.Unavailable != "":
		return nil, &UnavailableError{RetryAfter: min(max(head.RetryAfter, 0), mostRetry), Reason: words(head.Unavailable)}
	case len(content) == 0 || len(content) > MaxPictureBytes:
		return nil, fmt.Errorf("%w: a picture of %d bytes", errUnreadable, len(content))
	}
	return content, nil
}

// words cuts a text for people to its bound.
func words(text string) string {
	if text == "" {
		return "No reason was given."
	}
	for len(text) > maxWordsBytes {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
