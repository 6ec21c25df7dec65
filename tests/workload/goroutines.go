// SPDX-License-Identifier: BSD-2-Clause

// Goroutines that allocate at every depth of a recursion: their stacks grow, and so move, now and
// then in the allocator's own first instructions. The collector runs meanwhile. Every block escapes.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

const (
	diggers = 400
	depth   = 48
	size    = 3000
)

type block [size]byte

var lock sync.Mutex
var blocks, slices, bytes int

//go:noinline
func makeBlock() *block { return new(block) }

//go:noinline
func makeBytes(n int) []byte { return make([]byte, n) }

//go:noinline
func dig(left int) int {
	b := makeBlock()
	b[left] = 1
	if left == 0 {
		return 1
	}
	return dig(left-1) + int(b[left])
}

// Frames of another size, so that each digger begins elsewhere.
//
//go:noinline
func walk(steps int) (blocks, bytes int) {
	if steps == 0 {
		return dig(depth - 1), 0
	}
	b := makeBytes(steps)
	blocks, bytes = walk(steps - 1)
	return blocks, bytes + len(b)
}

func main() {
	var done sync.WaitGroup
	for g := 0; g < diggers; g++ {
		done.Add(1)
		go func(steps int) {
			defer done.Done()
			n, b := walk(steps)
			if steps%8 == 0 {
				runtime.GC()
			}
			lock.Lock()
			blocks, slices, bytes = blocks+n, slices+steps, bytes+b
			lock.Unlock()
		}(g % 64)
	}
	done.Wait()
	fmt.Println("expect runtime.newobject main.makeBlock", blocks, blocks*size)
	fmt.Println("expect runtime.makeslice main.makeBytes", slices, bytes)
}
