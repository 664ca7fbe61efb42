// idmint over HTTP with net/http.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

type oids struct {
	IDs []string `json:"ids"`
}

type values struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

var client = http.Client{Timeout: 5 * time.Second}

// post fills answer. An error with status 503 may be repeated: nothing was taken.
func post(path string, body, answer any) error {
	url := os.Getenv("IDMINT_URL")
	if url == "" {
		url = "http://127.0.0.1:7378"
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	response, err := client.Post(url+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var why problem
		if err := json.NewDecoder(response.Body).Decode(&why); err != nil {
			return err
		}
		return fmt.Errorf("%d %s: %s", response.StatusCode, why.Title, why.Detail)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

func main() {
	var ids oids
	if err := post("/v1/oids", map[string]int{"count": 3}, &ids); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids.IDs)

	var one, ten values
	if err := post("/v1/counters/orders/next", map[string]int{}, &one); err != nil {
		log.Fatal(err)
	}
	fmt.Println(one.First)
	if err := post("/v1/counters/orders/next", map[string]int{"count": 10}, &ten); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ten.First, ten.Last)
}
