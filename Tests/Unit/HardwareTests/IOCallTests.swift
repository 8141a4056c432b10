import CProbe
import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hardware
@testable import RealTime
@testable import Server

/// A function that plays a wave and checks what it is called with. Used by one thread at a time.
final class WaveFunction: @unchecked Sendable {
  struct Call: Equatable {
    var frames: Int
    var input: [Float]
    var inputFrame, outputFrame: Int64
    var inputTime, outputTime: UInt64
  }
  private(set) var calls: [Call] = []
  private var played = 0
  let keepsCalls: Bool
  /// Called at the end of each call with its number.
  var afterCall: ((Int) -> Void)?

  init(keepsCalls: Bool = true) { self.keepsCalls = keepsCalls }

  /// The sample of a frame, counted from 1: exact, and never 0.
  static func sample(_ frame: Int) -> Float { Float(frame + 1) / 16_777_216 }

  var function: IOFunction {
    IOFunction(
      cue_io_function(
        run: { context, io in
          Unmanaged<WaveFunction>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.run(io.pointee)
          }
        }, context: Unmanaged.passUnretained(self).toOpaque()), keeping: self)
  }

  func beginAgain() {
    calls = []
    played = 0
  }

  private func run(_ io: cue_io) {
    let frames = Int(io.frames)
    if let output = io.output {
      for frame in 0..<frames {
        for channel in 0..<Int(io.output_channels) {
          output[frame * Int(io.output_channels) + channel] = Self.sample(played + frame)
        }
      }
    }
    played += frames
    guard keepsCalls else { return }
    let input = io.input.map {
      Array(UnsafeBufferPointer(start: $0, count: frames * Int(io.input_channels)))
    }
    calls.append(
      Call(
        frames: frames, input: input ?? [], inputFrame: io.input_frame,
        outputFrame: io.output_frame, inputTime: io.input_time, outputTime: io.output_time))
    afterCall?(calls.count)
  }
}

/// Calls of I/O functions in cycles that are driven by hand.
@Suite struct IOCallTests {
  let server = HandDrivenServer()
  let device: HardwareDevice

  init() { device = HardwareDevice(server, named: "by-hand", clientName: "io") }

  private var client: HandDrivenClient { server.clients.last! }
  private var heard: [Float] { client.outputs[0].samples }

  private static func added(_ call: Int, _ period: Int) -> Int {
    var (a, b) = (call, period)
    while b > 0 { (a, b) = (b, a % b) }
    return call - a
  }

  @Test(
    "each call has as many frames as were asked for, and the output has no gap",
    arguments: [16, 64, 100, 480, 512, 1024, 4096], [64, 480, 1024])
  func calls(frames: Int, period: Int) throws {
    server.periodFrames = period
    server.hears = { frame, input in Float(frame % 1000) * Float(input) }
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    expectTrue(try device.setBufferFrames(frames, askingServer: false))
    try expectEqual(device.addedLatency, Self.added(frames, period))
    try device.start(function)
    let begin = Int64(server.counter)
    let total = 20_000 / period * period
    for _ in 0..<(total / period) { server.cycle(frames: period) }
    device.stop(function)
    server.cycle(frames: period)
    let added = Self.added(frames, period)
    try expectEqual(device.addedLatency, added)
    var expected = [Float](repeating: 0, count: added)
    expected += (0..<(total - added)).map(WaveFunction.sample)
    expected += [Float](repeating: 0, count: period)
    expectEqual(heard, expected)
    expectEqual(client.outputs[1].samples, expected)
    for (i, call) in wave.calls.enumerated() {
      expectEqual(call.frames, frames)
      expectEqual(call.inputFrame, begin + Int64(i * frames))
      expectEqual(call.outputFrame, begin + Int64(added + i * frames))
      let first = Int(call.inputFrame)
      let last = first + frames - 1
      expectEqual(call.input[0], Float(first % 1000))
      expectEqual(call.input[1], Float(first % 1000) * 2)
      expectEqual(call.input[2 * frames - 2], Float(last % 1000))
    }
    device.remove(function)
  }

  @Test(
    "what a function gave before it stopped itself is heard, and it is not called again",
    arguments: [16, 100, 480, 1024, 4096], [64, 480, 1024])
  func drains(frames: Int, period: Int) throws {
    server.periodFrames = period
    let wave = WaveFunction()
    let function = wave.function
    wave.afterCall = { [device] in if $0 == 3 { device.stop(function) } }
    device.add(function)
    expectTrue(try device.setBufferFrames(frames, askingServer: false))
    for round in 1...2 {
      try device.start(function)
      let (begin, played) = (heard.count, 3 * frames)
      let total = (Self.added(frames, period) + played) / period * period + 2 * period
      for _ in 0..<(total / period) { server.cycle(frames: period) }
      let sound = heard[begin...].drop { $0 == 0 }
      expectTrue(sound.prefix(played).elementsEqual((0..<played).map(WaveFunction.sample)))
      expectTrue(sound.dropFirst(played).allSatisfy { $0 == 0 } && sound.count >= played)
      expectEqual(wave.calls.count, 3, "round \(round)")
      wave.beginAgain()
    }
    wave.afterCall = nil
    device.remove(function)
  }

  @Test("host times go on where the server does not tell them, or tells a cycle of no length")
  func untoldTimes() throws {
    server.periodFrames = 960
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    try device.start(function)
    server.counter = 480_000
    for cycle in 0..<8 {
      server.times = { time in
        var time = time
        if cycle == 2 || cycle == 3 { time.microseconds = 0 }
        if cycle > 1 && cycle < 6 { time.next_microseconds = time.microseconds }
        return time
      }
      server.cycle(frames: 960)
      let now = try device.open()
      let next = UInt64(10_020 + 20 * cycle) * 1_000_000
      expectEqual(now.hostTime(ofFrame: now.latestFrame + 960), next)
    }
    let begins = (0..<8).map { UInt64(10_000 + 20 * $0) * 1_000_000 }
    expectEqual(wave.calls.map(\.outputTime), begins)
    expectEqual(wave.calls.map(\.inputTime), begins.map { $0 - 20_000_000 })
    device.remove(function)
  }

  @Test("another period leaves out or repeats no frame, and adds silence only where it must")
  func periods() throws {
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    expectTrue(try device.setBufferFrames(480, askingServer: false))
    try device.start(function)
    for period in [480, 64, 1024, 480, 100, 512, 4096] {
      server.changePeriod(to: period)
      for _ in 0..<8 { server.cycle(frames: period) }
    }
    device.stop(function)
    let sounding = heard.filter { $0 != 0 }
    expectEqual(sounding, (0..<sounding.count).map(WaveFunction.sample))
    expectTrue(heard.count - sounding.count < 480 && wave.calls.allSatisfy { $0.frames == 480 })
    device.remove(function)
  }

  @Test("the outputs of several functions are added; one that stops leaves no trace")
  func several() throws {
    let functions = [WaveFunction(), WaveFunction(), WaveFunction()].map(\.function)
    for function in functions { device.add(function) }
    try device.start(functions[0])
    server.cycle(frames: 1024)
    try device.start(functions[1])
    server.cycle(frames: 1024)
    device.stop(functions[0])
    server.cycle(frames: 1024)
    let expected = (0..<3072).map { frame -> Float in
      let first = frame < 2048 ? WaveFunction.sample(frame) : 0
      let second = frame >= 1024 ? WaveFunction.sample(frame - 1024) : 0
      return first + second
    }
    expectTrue(heard == expected && device.isRunning)
    device.stop(functions[1])
    expectTrue(!device.isRunning)
    for function in functions { device.remove(function) }
    expectTrue(client.outputs.allSatisfy { $0.isRemoved })
  }

  @Test("ports are added for the directions that functions use")
  func directions() throws {
    let player = WaveFunction().function
    player.setUse(input: false, output: true)
    device.add(player)
    try device.start(player)
    expectTrue(client.inputs.isEmpty && client.outputs.count == 2)
    server.cycle(frames: 1024)
    let recorder = WaveFunction()
    let recording = recorder.function
    recording.setUse(input: true, output: false)
    device.add(recording)
    try device.start(recording)
    expectEqual(client.inputs.count, 2)
    server.cycle(frames: 1024)
    expectTrue(recorder.calls.count == 1 && client.outputs.last!.samples.last! > 0)
    device.remove(player)
    device.remove(recording)
  }

  @Test("ports are connected once; from then on their connections are the user's")
  func connections() throws {
    server.otherInputs = ["other:in"]
    server.otherOutputs = ["feed:out"]
    // A function that was removed never runs again: each start after a removal takes new ones.
    func functions() -> (recorder: IOFunction, player: IOFunction) {
      let (recorder, player) = (WaveFunction().function, WaveFunction().function)
      recorder.setUse(input: true, output: false)
      player.setUse(input: false, output: true)
      return (recorder, player)
    }
    var (recorder, player) = functions()
    device.add(recorder)
    try device.start(recorder)
    expectEqual(client.connections, ["in_1": ["system:capture_1"], "in_2": ["system:capture_2"]])
    client.disconnect("in_1", from: "system:capture_1")
    try client.connect("feed:out", toOurs: "in_1")
    // Another direction leaves the ports that are there, and their connections.
    device.add(player)
    try device.start(player)
    expectTrue(client.inputs.count == 2 && client.inputs.allSatisfy { !$0.isRemoved })
    expectEqual(client.connections["in_1"], ["feed:out"])
    expectEqual(client.connections["out_1"], ["system:playback_1"])
    client.disconnect("out_1", from: "system:playback_1")
    try client.connect("out_1", to: "other:in")
    client.disconnect("out_2", from: "system:playback_2")
    let wanted = [
      "in_1": ["feed:out"], "in_2": ["system:capture_2"], "out_1": ["other:in"], "out_2": [],
    ]
    for isNewClient in [false, true] {
      for function in [player, recorder] { device.remove(function) }
      expectTrue(client.connections.isEmpty && client.inputs.allSatisfy { $0.isRemoved })
      if isNewClient { device.closeIfUnused() }
      (recorder, player) = functions()
      for function in [recorder, player] {
        device.add(function)
        expectTrue(try device.start(function))
      }
      expectEqual(client.connections.merging(["out_2": []]) { a, _ in a }, wanted)
    }
    expectEqual(server.clients.count, 2)
    // A port that is away when the unit starts is connected once it is there.
    for function in [player, recorder] { device.remove(function) }
    server.otherInputs = []
    (recorder, player) = functions()
    for function in [recorder, player] {
      device.add(function)
      expectTrue(try device.start(function))
    }
    expectTrue(client.connections["out_1", default: []].isEmpty)
    server.otherInputs = ["other:in"]
    expectTrue(waits { client.connections["out_1"] == ["other:in"] })
    for function in [player, recorder] { device.remove(function) }
  }

  @Test("volume changes in a straight line within a cycle")
  func volume() throws {
    let wave = WaveFunction()
    let function = wave.function
    device.add(function)
    try device.start(function)
    server.cycle(frames: 1024)
    device.setVolume(0.5)
    server.cycle(frames: 1024)
    device.setMute(true)
    server.cycle(frames: 1024)
    server.cycle(frames: 1024)
    let gains = heard.enumerated().map { $1 / WaveFunction.sample($0) }
    expectTrue(gains[0..<1024].allSatisfy { $0 == 1 })
    for frame in 0..<1024 {
      let gain = 1 - 0.5 * Float(frame + 1) / 1024
      expectTrue(abs(gains[1024 + frame] - gain) < 1e-5)
    }
    expectTrue(abs(gains[2047] - 0.5) < 1e-6 && gains[3071] == 0)
    expectTrue(heard[3072...].allSatisfy { $0 == 0 })
    device.remove(function)
  }

  @Test("a block with functions allocates, locks and retains nothing")
  func realTime() throws {
    try require(cue_probe_works() || isSanitized)
    let halve = cue_io_function(
      run: { _, io in
        for i in 0..<Int(io.pointee.frames) { io.pointee.output![2 * i] = 0.5 }
      }, context: UnsafeMutableRawPointer(bitPattern: 8)!)
    let functions = [halve, halve].map { IOFunction($0, keeping: self.device) }
    for function in functions { function.slot.pointee.setRunning(true) }
    let memory = IOMemory(inputs: 2, outputs: 2, callFrames: 480, sampleRate: 48000)
    let list = IOListMemory(functions)
    memory.cycle.pointee.swap(list.list)
    let planes = (0..<4).map { _ in
      UnsafeMutablePointer<Float>.allocate(capacity: 1024)
    }
    defer { for plane in planes { plane.deallocate() } }
    for plane in planes { plane.initialize(repeating: 0, count: 1024) }
    let inputs = planes[0..<2].map { UnsafePointer($0) }
    inputs.withUnsafeBufferPointer { inputs in
      planes[2...].withUnsafeBufferPointer { outputs in
        var block = cue_block()
        block.inputs = inputs.baseAddress
        block.outputs = outputs.baseAddress
        cue_probe_enter()
        for i in 0..<30 {
          block.frames = i % 3 == 0 ? 1024 : i % 3 == 1 ? 64 : 480
          block.host_time = 1_000_000
          block.nanoseconds_per_frame = 20_833
          runIOCycle(memory.cycle, &block)
        }
        let counts = cue_probe_leave()
        expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
        expectTrue(counts.retains == 0 && counts.releases == 0)
        expectEqual(planes[2][1], 1)
      }
    }
  }
}
