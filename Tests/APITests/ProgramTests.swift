import Foundation
import TestSupport
import Testing

/// Programs in C and C++ use the installed library in the ways that real ones do, on a server of
/// their own. `semantics.md` says which program covers which line of the behaviour.
@Suite struct ProgramTests {
  /// A program, how it is called, and the lines that it prints when all is well.
  struct Case: Sendable, CustomTestStringConvertible {
    let program: String
    var argument: String?
    var waitsForClients = true
    let passes: [String]

    var testDescription: String {
      ([program] + [argument].compactMap { $0 }).joined(separator: " ")
    }
  }

  static let cases: [Case] =
    ["loop", "mode", "thread", "dispatch", "second"].map {
      Case(program: "refill.c", argument: $0, passes: [$0])
    } + [
      Case(
        program: "priming.c",
        passes: ["a lock held round every call", "stop before start", "pause before start"]),
      Case(
        program: "stopping.c",
        passes: [
          "stop at once", "stop and start set the time to 0", "stop after the last buffer",
          "start straight after a stop", "enqueue during reset", "stop in a callback",
          "reset goes on in silence", "reset in a callback", "flush gives everything back",
          "pause keeps buffers and time",
        ]),
      Case(
        program: "dispose.c",
        passes: [
          "at once", "after playing", "in a callback", "free in a callback",
          "a running callback is waited for", "but not for ever", "not if it drains",
        ]),
      Case(program: "seek.c", passes: ["seek"]),
      Case(program: "driver.c", passes: ["driver"]),
      Case(
        program: "buffers.c",
        passes: [
          "a new buffer", "the app's fields stay", "what cannot be enqueued", "what can be freed",
        ]),
      Case(
        program: "handles.c",
        passes: ["no queue", "made-up queues", "a disposed queue", "formats", "names"]),
      Case(
        program: "properties.c",
        passes: ["sizes", "values", "a magic cookie", "devices", "listeners", "volume"]),
      Case(
        program: "listeners.c",
        passes: [
          "removed by another listener", "removed on another thread",
          "the queue disposed of by a listener",
        ]),
      Case(
        program: "settings.c",
        passes: [
          "every property", "metering", "layouts", "assignments", "codec policy", "changes",
        ]),
      Case(
        program: "timelines.c",
        passes: ["what a timeline must be", "running dry", "a queue that drains"]),
      Case(
        program: "timelines.c", argument: "missed", waitsForClients: false,
        passes: ["missed cycles"]),
      Case(
        program: "running.c",
        passes: [
          "nothing enqueued, and running dry", "never from inside a call", "many runs",
        ]),
      Case(
        program: "clock.c",
        passes: [
          "before the first start", "time goes on", "time goes on", "time before a start",
          "two on one frame by sample time",
        ]),
      Case(
        program: "times.c",
        passes: [
          "host time", "a device that does not run", "translated times", "nearest start times",
        ]),
      Case(
        program: "codes.c",
        passes: [
          "InvalidBuffer", "BufferEmpty", "BufferInQueue", "EnqueueDuringReset", "InvalidProperty",
          "InvalidPropertySize", "Permissions", "InvalidPropertyValue", "InvalidCodecAccess",
          "InvalidDevice", "InvalidParameter", "InvalidRunState", "InvalidOfflineMode",
          "CodecNotFound", "DisposalPending", "PrimeTimedOut", "InvalidQueueType",
          "RecordUnderrun", "CannotStart", "QueueInvalidated",
        ]),
      Case(
        program: "offline.c",
        passes: [
          "an export", "at another rate", "volume, trims and starts", "time stamps", "layouts",
          "results", "dispose in a callback", "back to the device", "a layout on the device",
        ]),
      Case(
        program: "schedule.c",
        passes: [
          "trims and start times", "a refused schedule", "parameters on a buffer", "a ramp", "pan",
        ]),
      Case(
        program: "taps.c",
        passes: [
          "a tap", "a siphon", "taps that cannot be", "a converter's error",
          "a prime that takes too long", "the decode buffer",
        ]),
      Case(
        program: "files.c",
        passes: [
          "every kind of file", "going on with a file", "a file in memory", "user data",
          "markers and regions", "an info dictionary", "properties", "global info", "mistakes",
          "a program that is killed",
        ]),
      Case(program: "clock.c", argument: "host", passes: ["two on one frame by host time"]),
      Case(
        program: "record.c",
        passes: [
          "every frame", "stop gives what there is", "stop when full", "the cookie of linear PCM",
          "two on one frame", "pause keeps the buffer",
          "underrun", "queue types", "properties", "run loop and dispatch queue", "dispose",
        ]),
      Case(
        program: "filestream.c",
        passes: ["pieces of all sizes", "properties", "seeking", "mistakes"]),
      Case(
        program: "sounds.c",
        passes: [
          "a sound is heard, and its end told", "the alert", "a function that takes itself away",
          "compressed sounds",
          "vibration and flash", "several at once", "mistakes", "properties",
          "the program's end waits",
        ]),
      Case(
        program: "converter.c",
        passes: [
          "integers", "buffers", "channels", "the callback", "rates", "priming", "properties",
          "packets", "properties of codecs", "what cannot be",
        ]),
      Case(
        program: "extaudiofile.c",
        passes: [
          "linear PCM", "rates and channels", "asynchronously", "properties", "files of others",
          "files of packets", "what cannot be",
        ]),
      Case(
        program: "failures.c",
        passes: [
          "a last write that fails", "asynchronous writes that fail", "functions that call back",
          "two threads",
        ]),
      Case(
        program: "layouts.c",
        passes: ["new files", "layouts that are set", "other numbers of channels"]),
      Case(
        program: "nulls.c",
        passes: [
          "queues", "converters and formats", "sound files", "extended files",
          "streams and system sounds",
        ]),
      Case(
        program: "fileinfo.c",
        passes: ["format lists", "independent packets", "artwork", "kinds of files"]),
      Case(
        program: "dither.c",
        passes: [
          "none", "triangular", "shaped", "fewer bits", "at another rate", "what cannot be",
        ]),
      Case(program: "formats.c", passes: ["formats", "codecs", "cookies", "layouts"]),
      Case(program: "record_aac.c", passes: ["AAC", "packets of one size", "results"]),
      Case(
        program: "play_packets.c", passes: ["FLAC", "Apple Lossless", "trims", "files", "results"]),
      Case(
        program: "player.cc",
        passes: [
          "an object that plays", "an object that goes while it plays",
          "a std::thread with a run loop",
        ]),
    ]

  #if RubberBand
    static let timePitch = Case(
      program: "timepitch.c", passes: ["properties and parameters", "rate and pitch"])

    @Test func rateAndPitchPass() throws { try Self.check(Self.timePitch) }
  #endif

  @Test(arguments: cases) func aProgramPasses(program: Case) throws { try Self.check(program) }

  static func check(_ program: Case, isSanitized: Bool = false) throws {
    // No playback ports: the program's own card is the only one, and hears all from the first frame.
    // Long cycles: if one comes late on a busy machine, JACK repeats what the last one left.
    let server = try JackDaemon(
      period: 1024, playbackPorts: 0, synchronous: program.waitsForClients)
    let binary = try ProgramBuilds.shared.get().build(program.program, isSanitized: isSanitized)
    let result = try run(
      binary.path, [program.argument].compactMap { $0 },
      environment: [
        "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
      ])
    let expected = program.passes.map { "ok \($0)\n" }.joined()
    #expect(result.status == 0 && result.output == expected, "\(result.output)\(result.errors)")
    #expect(!result.errors.contains("Sanitizer"), "\(result.errors)")
  }
}

/// The same programs under AddressSanitizer. A suite of its own, so that it runs beside the other.
@Suite struct SanitizedProgramTests {
  #if RubberBand
    @Test func rateAndPitchPass() throws {
      try ProgramTests.check(ProgramTests.timePitch, isSanitized: true)
    }
  #endif

  @Test(arguments: ProgramTests.cases) func aProgramPasses(program: ProgramTests.Case) throws {
    try ProgramTests.check(program, isSanitized: true)
  }

  /// The leak check works where these programs run, so that its silence tells something.
  @Test func aLeakOfAProgramIsFound() throws {
    let binary = try ProgramBuilds.shared.get().build("leak.c", isSanitized: true)
    let result = try run(binary.path)
    #expect(result.status != 0 && result.errors.contains("LeakSanitizer"), "\(result)")
  }
}
