// SPDX-License-Identifier: BSD-2-Clause

// A Go program that has its runtime profile its heap: with every block in the profile (rate 1) or by the
// runtime's sampling. Sizes are size classes of the runtime, so the requested ones are what it counts.
//
//	heap_profile RATE HEAP CPU
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
)

var kept [][]byte
var sink []byte

//go:noinline
func leak() {
	kept = append(kept, make([]byte, 1024))
}

//go:noinline
func churn() {
	sink = make([]byte, 4096)
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	rate, err := strconv.Atoi(os.Args[1])
	check(err)
	runtime.MemProfileRate = rate
	debug.SetGCPercent(-1) // what helps the collector allocates, too, in our name
	kept = make([][]byte, 0, 3000)
	for i := 0; i < 3000; i++ {
		leak()
		churn()
	}
	sink = nil
	runtime.GC()
	heap, err := os.Create(os.Args[2])
	check(err)
	check(pprof.Lookup("heap").WriteTo(heap, 0))
	check(heap.Close())
	cpu, err := os.Create(os.Args[3])
	check(err)
	check(pprof.StartCPUProfile(cpu))
	pprof.StopCPUProfile()
	check(cpu.Close())
	fmt.Printf("expect main.leak 3000 %d\nexpect main.churn 3000 %d\n", 3000*1024, 3000*4096)
	fmt.Printf("live main.leak 3000 %d\nlive main.churn 0 0\n", 3000*1024)
	fmt.Println(len(kept))
}
