/// A test program of `Tests/API/APITests/Programs`: its argument and the lines that it prints if it passes.
package struct ProgramCase: Sendable, CustomStringConvertible {
  package let program: String
  package let argument: String?
  /// True if a jackd under the program waits for its clients.
  package let waitsForClients: Bool
  package let passes: [String]

  init(program: String, argument: String? = nil, waitsForClients: Bool = true, passes: [String]) {
    self.program = program
    self.argument = argument
    self.waitsForClients = waitsForClients
    self.passes = passes
  }

  /// Standard output of a program that passes.
  package var output: String { passes.map { "ok \($0)\n" }.joined() }

  package var description: String {
    ([program] + [argument].compactMap { $0 }).joined(separator: " ")
  }

  package static let all: [ProgramCase] =
    ["loop", "mode", "thread", "dispatch", "second"].map {
      ProgramCase(program: "refill.c", argument: $0, passes: [$0])
    }
    + ["queues", "units", "converters", "files", "others"].map {
      ProgramCase(program: "numbers.c", argument: $0, passes: [$0])
    } + [
      ProgramCase(
        program: "priming.c",
        passes: ["a lock held round every call", "stop before start", "pause before start"]),
      ProgramCase(
        program: "stopping.c",
        passes: [
          "stop at once", "stop and start set the time to 0", "stop after the last buffer",
          "start straight after a stop", "enqueue during reset", "stop in a callback",
          "reset goes on in silence", "reset in a callback", "flush gives everything back",
          "pause keeps buffers and time",
        ]),
      ProgramCase(
        program: "dispose.c",
        passes: [
          "at once", "after playing", "in a callback", "free in a callback",
          "a running callback is waited for", "but not for ever", "not if it drains",
        ]),
      ProgramCase(
        program: "exits.c",
        passes: ["playing", "closing", "opening", "leaving a sound", "leaving a message"]),
      ProgramCase(program: "calls.c", passes: ["a fixed seed", "a random seed"]),
      ProgramCase(program: "threads.c", passes: ["threads that begin late"]),
      ProgramCase(
        program: "pairs.c",
        passes: [
          "output units", "mixers", "graphs", "players", "converting players", "recorders",
          "IOProcs", "converters", "files", "readers", "writers", "streams",
        ]),
      ProgramCase(
        program: "forks.c",
        passes: [
          "a child before the first call", "a daemon", "a child after calls",
          "a number like half an address", "a refused child",
        ]),
      ProgramCase(program: "seek.c", passes: ["seek"]),
      ProgramCase(program: "driver.c", passes: ["driver", "fifty rounds"]),
      ProgramCase(program: "freewheel.c", passes: ["freewheel"]),
      ProgramCase(
        program: "buffers.c",
        passes: [
          "a new buffer", "the app's fields stay", "what cannot be enqueued", "what can be freed",
        ]),
      ProgramCase(
        program: "handles.c",
        passes: ["no queue", "made-up queues", "a disposed queue", "formats", "names"]),
      ProgramCase(
        program: "properties.c",
        passes: ["sizes", "values", "a magic cookie", "devices", "listeners", "volume"]),
      ProgramCase(
        program: "listeners.c",
        passes: [
          "removed by another listener", "removed on another thread",
          "the queue disposed of by a listener",
        ]),
      ProgramCase(
        program: "settings.c",
        passes: [
          "every property", "metering", "layouts", "assignments", "codec policy", "changes",
        ]),
      ProgramCase(
        program: "timelines.c",
        passes: ["what a timeline must be", "running dry", "a queue that drains"]),
      ProgramCase(
        program: "timelines.c", argument: "missed", waitsForClients: false,
        passes: ["missed cycles"]),
      ProgramCase(
        program: "running.c",
        passes: [
          "nothing enqueued, and running dry", "never from inside a call", "many runs",
        ]),
      ProgramCase(
        program: "clock.c",
        passes: [
          "before the first start", "time goes on", "time goes on", "time before a start",
          "two on one frame by sample time",
        ]),
      ProgramCase(
        program: "times.c",
        passes: [
          "host time", "a device that does not run", "translated times", "nearest start times",
        ]),
      ProgramCase(
        program: "converted.c", passes: ["short sounds", "some buffer is always enqueued"]),
      ProgramCase(
        program: "hardware.c",
        passes: [
          "objects", "properties", "mistakes", "an IOProc", "shorter calls",
          "calls of another length", "longer calls", "several, and stops", "volume", "thru",
          "thru by calls of another length", "reads", "listeners",
        ]),
      ProgramCase(
        program: "hardware.c", argument: "blocked",
        passes: ["objects", "a function that does not return"]),
      ProgramCase(
        program: "units.c",
        passes: [
          "components", "properties", "renders", "formats", "rates", "mixers", "an output unit",
          "an output unit", "volume and channels", "at another rate", "thru", "the device",
        ]),
      ProgramCase(
        program: "units.c", argument: "blocked",
        passes: ["components", "a callback that does not return"]),
      ProgramCase(
        program: "manners.c",
        passes: [
          "no card", "any order", "any format", "odd scopes", "time stamps", "inputs", "locks",
          "ends in listeners",
        ]),
      ProgramCase(
        program: "plugins.c",
        passes: [
          "components", "parameters", "renders", "samples given by the caller",
          "functions of the host",
          "presets", "instruments", "equalisers", "a graph",
        ]),
      ProgramCase(
        program: "generators.c",
        passes: [
          "samples", "files", "mixers", "speeds", "units of the app", "listeners", "MIDI",
          "the transport",
        ]),
      ProgramCase(program: "effects.c", passes: ["effects", "a mixer", "mistakes"]),
      ProgramCase(
        program: "session.c",
        passes: [
          "initialising", "properties", "mistakes", "modes", "categories", "preferences",
          "listeners", "the route of a queue", "the route of an output unit", "changes", "activity",
        ]),
      ProgramCase(program: "session.c", argument: "interruption", passes: ["interruptions"]),
      ProgramCase(program: "graphs.c", passes: ["nodes", "a graph that plays"]),
      ProgramCase(
        program: "sequences.c",
        passes: ["offline", "events and files", "a sequence on a device", "endpoints"]),
      ProgramCase(program: "starts.c", passes: ["units", "graphs", "IOProcs"]),
      ProgramCase(
        program: "strict.c",
        passes: [
          "drain", "sizes", "duplex", "two units", "maps", "fifty starts", "close in a listener",
          "stop on another thread", "eight streams", "other formats", "written later",
          "renders elsewhere", "one byte", "garbage", "the last write",
        ]),
      ProgramCase(
        program: "servers.c",
        passes: ["no server", "one server", "two servers", "one server hangs", "eight servers"]),
      ProgramCase(program: "private.c", passes: ["a private library"]),
      ProgramCase(program: "edits.c", passes: ["edits"]),
      ProgramCase(program: "edits.c", argument: "stopped", passes: ["edits"]),
      ProgramCase(program: "canonical.c", passes: ["files", "mixers", "an output unit"]),
      ProgramCase(
        program: "codes.c",
        passes: [
          "InvalidBuffer", "BufferEmpty", "BufferInQueue", "EnqueueDuringReset", "InvalidProperty",
          "InvalidPropertySize", "Permissions", "InvalidPropertyValue", "InvalidCodecAccess",
          "InvalidDevice", "InvalidParameter", "InvalidRunState", "InvalidOfflineMode",
          "CodecNotFound", "DisposalPending", "PrimeTimedOut", "InvalidQueueType",
          "RecordUnderrun", "CannotStart", "QueueInvalidated",
        ]),
      ProgramCase(
        program: "offline.c",
        passes: [
          "an export", "at another rate", "volume, trims and starts", "time stamps", "layouts",
          "results", "dispose in a callback", "back to the device", "a layout on the device",
        ]),
      ProgramCase(
        program: "schedule.c",
        passes: [
          "trims and start times", "a refused schedule", "parameters on a buffer", "a ramp", "pan",
        ]),
      ProgramCase(
        program: "taps.c",
        passes: [
          "a tap", "a siphon", "taps that cannot be", "a converter's error",
          "a prime that takes too long", "the decode buffer",
        ]),
      ProgramCase(
        program: "files.c",
        passes: [
          "every kind of file", "going on with a file", "a file in memory", "user data",
          "markers and regions", "an info dictionary", "properties", "global info", "mistakes",
          "a program that is killed",
        ]),
      ProgramCase(program: "clock.c", argument: "host", passes: ["two on one frame by host time"]),
      ProgramCase(
        program: "record.c",
        passes: [
          "every frame", "stop gives what there is", "stop when full", "the cookie of linear PCM",
          "two on one frame", "pause keeps the buffer",
          "underrun", "queue types", "properties", "run loop and dispatch queue", "dispose",
        ]),
      ProgramCase(
        program: "filestream.c",
        passes: ["pieces of all sizes", "properties", "seeking", "mistakes"]),
      ProgramCase(
        program: "sounds.c",
        passes: [
          "a sound is heard, and its end told", "the alert", "a function that takes itself away",
          "compressed sounds",
          "vibration and flash", "several at once", "mistakes", "properties",
          "the program's end waits",
        ]),
      ProgramCase(
        program: "converter.c",
        passes: [
          "integers", "buffers", "channels", "the callback", "fewer bytes", "rates", "priming",
          "properties", "packets", "properties of codecs", "what cannot be",
        ]),
      ProgramCase(
        program: "extaudiofile.c",
        passes: [
          "linear PCM", "rates and channels", "asynchronously", "properties", "files of others",
          "files of packets", "what cannot be",
        ]),
      ProgramCase(
        program: "failures.c",
        passes: [
          "a last write that fails", "asynchronous writes that fail", "functions that call back",
          "two threads",
        ]),
      ProgramCase(
        program: "layouts.c",
        passes: ["new files", "layouts that are set", "other numbers of channels"]),
      ProgramCase(
        program: "names.c",
        passes: [
          "assertions", "result codes", "fixed numbers", "references", "threads", "workgroups",
          "AudioConverterFillBuffer", "bit-rate modes", "layouts",
        ]),
      ProgramCase(
        program: "nulls.c",
        passes: [
          "queues", "converters and formats", "sound files", "extended files",
          "streams and system sounds", "hardware", "audio units",
          "listeners, MIDI and components of the app", "queues through units", "graphs",
          "tracks", "sequences", "the audio session", "MIDI",
        ]),
      ProgramCase(
        program: "midi.c",
        passes: [
          "lists", "ports", "odd packets", "mistakes", "the setup", "properties", "notifications",
          "universal packets", "thru connections", "system exclusive messages",
        ]),
      ProgramCase(
        program: "fileinfo.c",
        passes: ["format lists", "independent packets", "artwork", "kinds of files"]),
      ProgramCase(
        program: "dither.c",
        passes: [
          "none", "triangular", "shaped", "fewer bits", "at another rate", "what cannot be",
        ]),
      ProgramCase(
        program: "sizes.c", passes: ["lists", "counts", "tables", "rates", "queues", "others"]),
      ProgramCase(program: "formats.c", passes: ["formats", "codecs", "cookies", "layouts"]),
      ProgramCase(program: "record_aac.c", passes: ["AAC", "packets of one size", "results"]),
      ProgramCase(
        program: "play_packets.c", passes: ["FLAC", "Apple Lossless", "trims", "files", "results"]),
      ProgramCase(
        program: "player.cc",
        passes: [
          "an object that plays", "an object that goes while it plays",
          "a std::thread with a run loop",
        ]),
    ]

  #if RubberBand
    package static let timePitch = ProgramCase(
      program: "timepitch.c", passes: ["properties and parameters", "rate and pitch"])
  #endif
}
