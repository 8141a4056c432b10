import CProbe
import CRealTime
import Foundation
import TestSupport
import Testing

@testable import AudioUnits
@testable import Hardware
@testable import RealTime
@testable import Server

/// A render callback that gives a wave. Used by one thread at a time.
final class WaveSource: @unchecked Sendable {
  private(set) var calls = 0
  private(set) var framesOfCalls: Set<Int> = []
  private(set) var firstTimes: [Double] = []
  var gain: Float = 1
  var keepsCalls = true
  /// Called in each call.
  var action: (() -> Void)?

  static func sample(_ frame: Int) -> Float { Float(frame + 1) / 16_777_216 }

  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static let proc: cue_render_proc = { data, _, time, _, frames, list in
    Unmanaged<WaveSource>.fromOpaque(data!)._withUnsafeGuaranteedRef {
      $0.render(time.pointee, Int(frames), list!)
    }
    return 0
  }

  private func render(
    _ time: cue_time_stamp, _ frames: Int, _ list: UnsafeMutablePointer<cue_buffer_list>
  ) {
    calls += 1
    if keepsCalls {
      framesOfCalls.insert(frames)
      firstTimes.append(time.sample_time)
    }
    let buffers = cue_rt_buffers(list)
    for channel in 0..<Int(list.pointee.count) {
      let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
      for frame in 0..<frames {
        samples[frame] = Self.sample(Int(time.sample_time) + frame) * gain
      }
    }
    action?()
  }
}

/// An input proc that renders and keeps what it is told of. Used by one thread at a time.
final class InputRecorder: @unchecked Sendable {
  private let unit: AudioUnits.Unit
  private(set) var sound: [Float] = []
  private(set) var frames: Set<Int> = []
  private(set) var statuses: Set<Int32> = []
  private(set) var times: [Double] = []

  init(_ unit: AudioUnits.Unit) { self.unit = unit }

  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static let proc: cue_render_proc = { data, flags, time, _, frames, _ in
    Unmanaged<InputRecorder>.fromOpaque(data!)._withUnsafeGuaranteedRef {
      $0.record(flags, time, Int(frames))
    }
    return 0
  }

  private func record(
    _ flags: UnsafeMutablePointer<UInt32>, _ time: UnsafePointer<cue_time_stamp>, _ count: Int
  ) {
    let list = BufferMemory.allocateList(buffers: 2)
    defer { list.deallocate() }
    list.pointee.count = 2
    let buffers = cue_rt_buffers(list)
    for i in 0..<2 { buffers[i] = cue_buffer(channels: 1, bytes: 0, data: nil) }
    frames.insert(count)
    times.append(time.pointee.sample_time)
    statuses.insert(unit.render.pointee.render(flags, time, bus: 1, frames: count, list))
    guard let data = buffers[0].data else { return }
    sound += UnsafeBufferPointer(start: data.assumingMemoryBound(to: Float.self), count: count)
  }
}

/// Audio units in cycles that are driven by hand. `units.c` has the functions of the C API.
@Suite struct UnitTests {
  let server = HandDrivenServer()
  let device: HardwareDevice
  let unit: OutputUnit

  init() throws {
    let device = HardwareDevice(server, named: "by-hand", clientName: "units")
    self.device = device
    unit = try require(try UnitKind.remoteIO.make { device } as? OutputUnit)
  }

  /// Sets the server's period.
  private func setPeriod(_ frames: Int) { server.periodFrames = frames }

  private var heard: [Float] { server.clients.last!.outputs[0].samples }

  private func planar(_ rate: Double = 48000, _ channels: Int = 2) throws -> BusFormat {
    try require(BusFormat.planar(channels: channels, sampleRate: rate))
  }

  private func end() {
    unit.dispose()
    device.closeIfUnused()
  }

  /// Fills every buffer with a number of samples.
  private static let constant: cue_render_proc = { _, _, _, _, frames, list in
    let buffers = cue_rt_buffers(list!)
    for i in 0..<Int(list!.pointee.count) {
      let samples = buffers[i].data!.assumingMemoryBound(to: Float.self)
      for frame in 0..<Int(frames) { samples[frame] = 0.25 }
    }
    return 0
  }

  @Test("a cycle through converters and mixers allocates, locks and retains nothing")
  func realTime() throws {
    try require(cue_probe_works() || isSanitized)
    let mixer = try UnitKind.multiChannelMixer.make { device }
    try mixer.setBusCount(2, .input)
    try mixer.setFormat(planar(), .output, 0)
    // One bus at another rate, the other in 16 bits.
    try mixer.setFormat(planar(44100), .input, 0)
    let integers = try require(
      BusFormat(
        PCMFormat(sampleRate: 48000, channels: 2, kind: .signedInteger, bitsPerSample: 16),
        isInterleaved: true))
    let converter = try UnitKind.converter.make { device }
    try converter.setFormat(planar(), .input, 0)
    try converter.setFormat(integers, .output, 0)
    try mixer.setFormat(integers, .input, 1)
    try mixer.setCallback(Self.constant, nil, 0)
    try converter.setCallback(Self.constant, nil, 0)
    try mixer.connect(converter, output: 0, to: 1)
    try unit.connect(mixer, output: 0, to: 0)
    for one in [converter, mixer, unit] { try one.initialize() }

    let pointer = unit.memory.pointer
    var output = [Float](repeating: 0, count: 2 * 1024)
    let input = [Float](repeating: 0, count: 2 * 1024)
    output.withUnsafeMutableBufferPointer { output in
      input.withUnsafeBufferPointer { input in
        var io = cue_io()
        io.input_channels = 2
        io.output_channels = 2
        io.input = input.baseAddress
        io.output = output.baseAddress
        io.nanoseconds_per_frame = 20_833
        cue_probe_enter()
        for i in 0..<60 {
          io.frames = i % 3 == 0 ? 1024 : i % 3 == 1 ? 64 : 480
          io.output_time = 1_000_000
          runDeviceUnit(pointer, &io)
        }
        let counts = cue_probe_leave()
        expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
        expectTrue(counts.retains == 0 && counts.releases == 0)
        // Both buses are heard.
        expectTrue(abs(output[2 * 400] - 0.5) < 1e-3)
      }
    }
    end()
    for one in [mixer, converter] { one.dispose() }
  }

  @Test("a unit is asked for no more than its maximum, and its times have no gap")
  func slices() throws {
    let source = WaveSource()
    try unit.setFormat(planar(), .input, 0)
    try unit.setCallback(WaveSource.proc, source.pointer, 0)
    try unit.setMaximumFrames(100)
    try unit.initialize()
    try unit.start()
    for _ in 0..<5 { server.cycle(frames: 1024) }
    expectEqual(source.framesOfCalls, [100, 24])
    expectEqual(
      source.firstTimes.prefix(12),
      [
        0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1024,
      ])
    expectEqual(heard, (0..<5120).map(WaveSource.sample))
    end()
  }

  @Test("a callback that is replaced in a running unit leaves no frame out")
  func replacing() throws {
    setPeriod(512)
    let (first, second) = (WaveSource(), WaveSource())
    try unit.setFormat(planar(), .input, 0)
    try unit.setCallback(WaveSource.proc, first.pointer, 0)
    try unit.initialize()
    try unit.start()
    for _ in 0..<3 { server.cycle(frames: 512) }
    try unit.setCallback(WaveSource.proc, second.pointer, 0)
    let calls = first.calls
    for _ in 0..<3 { server.cycle(frames: 512) }
    expectTrue(first.calls == calls && second.calls == 3)
    expectEqual(heard, (0..<3072).map(WaveSource.sample))
    // Without one there is silence.
    try unit.setCallback(nil, nil, 0)
    server.cycle(frames: 512)
    expectTrue(heard.suffix(512).allSatisfy { $0 == 0 })
    end()
  }

  @Test("a unit that its own callback stops is not called again, and can go")
  func stopping() throws {
    setPeriod(512)
    let source = WaveSource()
    try unit.setFormat(planar(), .input, 0)
    try unit.setCallback(WaveSource.proc, source.pointer, 0)
    try unit.initialize()
    try unit.start()
    source.action = { [unit] in if source.calls == 2 { unit.stop() } }
    for _ in 0..<6 { server.cycle(frames: 512) }
    expectTrue(source.calls == 2 && !unit.isRunning)
    source.action = nil
    try unit.start()
    server.cycle(frames: 512)
    expectEqual(source.calls, 3)
    // The time began anew.
    expectEqual(source.firstTimes.last, 0)
    source.action = { [unit] in unit.dispose() }
    server.cycle(frames: 512)
    let calls = source.calls
    for _ in 0..<3 { server.cycle(frames: 512) }
    expectEqual(source.calls, calls)
    end()
  }

  @Test(
    "a unit that converts is not called again once its own callback has stopped it",
    arguments: [22050, 44100, 48000, 96000], [1, 2, 5])
  func stoppingInside(rate: Double, call: Int) throws {
    for (frames, period) in [(nil, 512), (480, 1024), (64, 1024), (4096, 256)] as [(Int?, Int)] {
      let server = HandDrivenServer()
      server.periodFrames = period
      let device = HardwareDevice(server, named: "by-hand", clientName: "units")
      let unit = try require(try UnitKind.halOutput.make { device } as? OutputUnit)
      let mixer = try UnitKind.multiChannelMixer.make { device }
      let source = WaveSource()
      if let frames { _ = try device.setBufferFrames(frames, askingServer: false) }
      // One callback of the unit's own, and two behind a mixer: the second one is not called either.
      for isMixed in [false, true] {
        if isMixed {
          try mixer.setBusCount(2, .input)
          try mixer.setFormat(planar(), .output, 0)
          for bus in 0..<2 as Range<UInt32> {
            try mixer.setFormat(planar(rate), .input, bus)
            try mixer.setCallback(WaveSource.proc, source.pointer, bus)
          }
          try mixer.initialize()
          try unit.connect(mixer, output: 0, to: 0)
        } else {
          try unit.setFormat(planar(rate), .input, 0)
          try unit.setCallback(WaveSource.proc, source.pointer, 0)
        }
        try unit.initialize()
        let before = source.calls
        source.action = { if source.calls == before + call { unit.stop() } }
        try unit.start()
        var cycles = 0
        while unit.isRunning, cycles < 400 {
          server.cycle(frames: period)
          cycles += 1
        }
        for _ in 0..<20 { server.cycle(frames: period) }
        expectTrue(source.calls == before + call && !unit.isRunning)
        // All calls have the length that was asked for.
        if !isMixed { expectEqual(source.framesOfCalls, [frames ?? period]) }
      }
      unit.dispose()
      mixer.dispose()
      device.closeIfUnused()
    }
  }

  /// Passes the input on in the output's callback.
  private static let thru: cue_render_proc = { data, flags, time, _, frames, list in
    data!.assumingMemoryBound(to: RenderUnit.self).pointee.render(
      flags, time, bus: 1, frames: Int(frames), list!)
  }

  @Test(
    "input that an output callback passes on is whole at any rate",
    arguments: [22050, 44100, 48000, 88200, 96000], [nil, 64, 480, 4096])
  func thru(rate: Double, frames: Int?) throws {
    setPeriod(1024)
    server.hears = { frame, _ in 0.5 * Float(sin(2 * .pi * 1000 * Double(frame) / 48000)) }
    try unit.setRecords(true)
    if let frames { _ = try device.setBufferFrames(frames, askingServer: false) }
    try unit.setFormat(planar(rate), .input, 0)
    // The app's side of the input has the rate of its output, unless it sets another one.
    try expectEqual(unit.bus(.output, 1).format.sampleRate, rate)
    try unit.setCallback(Self.thru, unit.render, 0)
    try unit.initialize()
    try unit.start()
    for _ in 0..<96 { server.cycle(frames: 1024) }
    let sound = Array(heard.dropFirst(24 * 1024))
    expectTrue(noise(in: sound, hertz: 1000) < 0.001)
    end()
  }

  /// Returns the RMS of what is not the sine, as a part of the sine's.
  private func noise(in sound: [Float], hertz: Double) -> Double {
    let step = 2 * Double.pi * hertz / 48000
    var (a, b, all) = (0.0, 0.0, 0.0)
    let count = sound.count / 48 * 48
    for i in 0..<count {
      a += Double(sound[i]) * cos(step * Double(i))
      b += Double(sound[i]) * sin(step * Double(i))
      all += Double(sound[i]) * Double(sound[i])
    }
    let sine = 2 * (a * a + b * b) / Double(count)
    return sine > 0 ? (max(0, all - sine) / sine).squareRoot() : 1
  }

  @Test("an input proc gets whole input at any rate, in calls of the length that was asked for")
  func recording() throws {
    setPeriod(1024)
    server.hears = { frame, _ in 0.5 * Float(sin(2 * .pi * 1000 * Double(frame) / 48000)) }
    let recorder = InputRecorder(unit)
    try unit.setPlays(false)
    try unit.setRecords(true)
    try unit.setFormat(planar(44100), .output, 1)
    try expectEqual(unit.bus(.input, 1).format.sampleRate, 48000)
    unit.setInputProc(InputRecorder.proc, recorder.pointer)
    try unit.initialize()
    try unit.start()
    for _ in 0..<96 { server.cycle(frames: 1024) }
    expectTrue(recorder.statuses == [0] && recorder.frames == [1024])
    expectTrue(abs(recorder.sound.count - 96 * 1024 * 441 / 480) <= 2048)
    let times = recorder.times
    expectTrue(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 1024 })
    let step = 2 * Double.pi * 1000 / 44100
    let sound = recorder.sound.dropFirst(4410).prefix(44100).map(Double.init)
    // A sine: each sample follows from the two before it.
    let errors = (2..<sound.count).map {
      abs(sound[$0] - 2 * cos(step) * sound[$0 - 1] + sound[$0 - 2])
    }
    expectTrue(errors.max()! < 1e-4 && sound.max()! > 0.49)
    end()
  }

  @Test("after the server's return at another rate the unit goes on at that rate")
  func returning() throws {
    let source = WaveSource()
    try unit.setCallback(WaveSource.proc, source.pointer, 0)
    try unit.initialize()
    try expectEqual(unit.bus(.input, 0).format.sampleRate, 48000)
    try unit.start()
    server.cycle(frames: 1024)
    server.goAway()
    expectTrue(waits { !device.isAlive })
    server.comeBack(sampleRate: 44100)
    let calls = source.calls
    let goesOn = waits {
      server.cycle(frames: 1024)
      return source.calls > calls
    }
    expectTrue(goesOn && unit.isRunning)
    expectTrue(waits { (try? unit.bus(.input, 0).format.sampleRate) == 44100 })
    try expectEqual(unit.bus(.output, 0).format.sampleRate, 44100)
    end()
  }

  @Test("a connection gives the input the format of the source, or the other way round")
  func connecting() throws {
    let mixer = try UnitKind.multiChannelMixer.make { device }
    try mixer.setFormat(planar(96000, 1), .output, 0)
    try unit.connect(mixer, output: 0, to: 0)
    try expectEqual(unit.bus(.input, 0).format, planar(96000, 1))
    let other = try UnitKind.converter.make { device }
    try other.setFormat(planar(44100), .input, 0)
    try other.connect(unit, output: 1, to: 0)
    try expectEqual(other.bus(.input, 0).format, unit.bus(.output, 1).format)
    #expect(throws: UnitError.self) { try mixer.connect(unit, output: 1, to: 0) }
    other.dispose()
    mixer.dispose()
    end()
  }

  @Test("a unit cannot be told to have no or too many buses")
  func counts() throws {
    let mixer = try UnitKind.multiChannelMixer.make { device }
    #expect(throws: UnitError.self) { try mixer.setBusCount(0, .input) }
    #expect(throws: UnitError.self) { try mixer.setBusCount(1025, .input) }
    #expect(throws: UnitError.self) { try mixer.setBusCount(2, .output) }
    #expect(throws: UnitError.self) { try unit.setBusCount(2, .input) }
    try mixer.setBusCount(1024, .input)
    try mixer.initialize()
    mixer.dispose()
    end()
  }
}
