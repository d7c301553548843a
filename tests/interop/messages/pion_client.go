// Pion as the client: messages of given sizes on two channels. pion_client URL SIZE...
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pion/webrtc/v3"
)

const limit = 20 * time.Second

// What came back on each channel: a length, or "differs".
type verdict struct {
	kind string
	came []any
	err  error
}

func must[T any](value T, err error) T {
	if err != nil {
		finish(map[string]any{"error": err.Error()})
	}
	return value
}

func finish(seen map[string]any) {
	fmt.Println(string(must(json.Marshal(seen))))
	if seen["error"] != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func exchange(url, offer string) string {
	request := must(http.NewRequest("POST", url, strings.NewReader(offer)))
	request.Header.Set("Content-Type", "application/sdp")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	reply := must((&http.Client{Timeout: limit}).Do(request))
	answer := string(must(io.ReadAll(reply.Body)))
	if reply.StatusCode != http.StatusCreated {
		finish(map[string]any{"error": fmt.Sprintf("HTTP %d %s", reply.StatusCode, answer)})
	}
	return answer
}

func message(kind string, size int) []byte {
	if kind == "text" {
		return bytes.Repeat([]byte{'x'}, size)
	}
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i % 251)
	}
	return data
}

func send(channel *webrtc.DataChannel, kind string, data []byte) error {
	if kind == "text" {
		return channel.SendText(string(data))
	}
	return channel.Send(data)
}

func compare(kind string, got webrtc.DataChannelMessage, wanted []byte) any {
	if got.IsString == (kind == "text") && bytes.Equal(got.Data, wanted) {
		return len(got.Data)
	}
	return "differs"
}

// Sends a message of each size on a new channel, each after the one before it came back.
func echo(pc *webrtc.PeerConnection, label, kind string, sizes []int, done chan<- verdict) {
	channel := must(pc.CreateDataChannel(label, nil))
	back := make(chan webrtc.DataChannelMessage, len(sizes))
	closed := make(chan struct{})
	channel.OnMessage(func(message webrtc.DataChannelMessage) { back <- message })
	channel.OnClose(func() { close(closed) })
	channel.OnOpen(func() {
		seen := verdict{kind: kind}
		for i := 0; i < len(sizes) && seen.err == nil; i++ {
			wanted := message(kind, sizes[i])
			if seen.err = send(channel, kind, wanted); seen.err != nil {
				break
			}
			select {
			case got := <-back:
				seen.came = append(seen.came, compare(kind, got, wanted))
			case <-closed:
				seen.err = fmt.Errorf("%s closed at the message of %d bytes", label, sizes[i])
			}
		}
		done <- seen
	})
}

func main() {
	sizes := []int{}
	for _, word := range os.Args[2:] {
		sizes = append(sizes, must(strconv.Atoi(word)))
	}
	pc := must(webrtc.NewPeerConnection(webrtc.Configuration{}))
	must(pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio))
	done := make(chan verdict, 2)
	echo(pc, "oai-events", "text", sizes, done)
	echo(pc, "chat", "binary", sizes, done)

	gathered := webrtc.GatheringCompletePromise(pc)
	offer := must(pc.CreateOffer(nil))
	must(0, pc.SetLocalDescription(offer))
	<-gathered
	answer := exchange(os.Args[1], pc.LocalDescription().SDP)
	must(0, pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))

	seen := map[string]any{}
	late := time.After(limit)
	for len(seen) < 2 && seen["error"] == nil {
		select {
		case one := <-done:
			seen[one.kind] = one.came
			if one.err != nil {
				seen["error"] = one.err.Error()
			}
		case <-late:
			seen["error"] = fmt.Sprintf("not all within %v", limit)
		}
	}
	finish(seen)
}
