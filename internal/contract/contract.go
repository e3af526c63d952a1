// Package contract holds the questions and answers of the wire, each once, with the tags that the API's document is made of. The
// groups of the API and the client both speak in these types. What is an engine's own to be told, such as simulationParams, stands
// with the engine, and how a list is asked for stands with the list. It holds no rule and no storage.
package contract

// MaxPage is the largest page of every list (doc/contract.md §8).
const MaxPage = 100

// SessionCookie is the cookie of a browser session.
const SessionCookie = "molfabric_session"
