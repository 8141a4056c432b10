import CProbe
import CRealTime
import Foundation
import TestSupport
import Testing

@testable import AudioUnits
@testable import Hardware
@testable import PluginHost
@testable import RealTime

/// Plugins as audio units, and scheduled changes, on the test's own thread. `plugins.c` has the functions
/// of the C API.
@Suite(.tags(.program)) struct PluginUnitTests {
  private static let rate = 48000.0
  private let world = World(path: "/usr/lib/lv2")

  private func planar(_ channels: Int) throws -> BusFormat {
    try require(BusFormat.planar(channels: channels, sampleRate: Self.rate))
  }

  private func make(_ uri: String, channels: Int = 2) throws -> LV2Unit {
    let unit = try LV2Unit(world.description(of: uri), in: world)
    if unit.busCount(.input) > 0 { try unit.setFormat(planar(channels), .input, 0) }
    return unit
  }

  /// Fills every buffer with ones.
  private static let ones: cue_render_proc = { _, _, _, _, frames, list in
    let buffers = cue_rt_buffers(list!)
    for channel in 0..<Int(list!.pointee.count) {
      buffers[channel].data!.assumingMemoryBound(to: Float.self)
        .initialize(repeating: 1, count: Int(frames))
    }
    return 0
  }

  /// Buffers for renders, which are made before a cycle is watched.
  private final class Output {
    let list = UnsafeMutablePointer<cue_buffer_list>.allocate(capacity: 8)
    var time = cue_time_stamp()
    private let channels: Int

    init(channels: Int) {
      self.channels = channels
      time.flags = UInt32(cue_time_has_sample)
    }
    deinit { list.deallocate() }

    func render(_ unit: AudioUnits.Unit, frames: Int) -> Int32 {
      list.pointee.count = UInt32(channels)
      let buffers = cue_rt_buffers(list)
      for channel in 0..<channels {
        buffers[channel] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: nil)
      }
      var flags: UInt32 = 0
      let status = unit.render.pointee.render(&flags, &time, bus: 0, frames: frames, list)
      time.sample_time += Double(frames)
      return status
    }

    func samples(_ channel: Int, _ frames: Int) -> [Float] {
      let data = cue_rt_buffers(list)[channel].data!.assumingMemoryBound(to: Float.self)
      return Array(UnsafeBufferPointer(start: data, count: frames))
    }
  }

  private func schedule(
    _ unit: AudioUnits.Unit, _ id: UInt32, _ scope: UInt32, start: Int, frames: Int = 0,
    from: Float = 0,
    to: Float
  ) -> Int32 {
    unit.render.pointee.schedule(
      id, scope: scope, element: 0, start: start, frames: frames, from: from, to: to)
  }

  @Test("55: every plugin has a type and its own subtype")
  func identities() throws {
    var seen: Set<ComponentDescription> = []
    for uri in world.uris {
      let plugin = try world.description(of: uri)
      let description = PluginIdentity.description(of: plugin)
      expectTrue(PluginIdentity.types.contains(description.type), "\(uri)")
      expectTrue(seen.insert(description).inserted, "\(uri)")
      // Two plugins with one number: the second attempt gives another.
      expectTrue(PluginIdentity.description(of: plugin, attempt: 1) != description, "\(uri)")
    }
    let list = ComponentList { world }
    let all = list.all(
      matching: ComponentDescription(
        type: 0, subtype: 0, manufacturer: PluginIdentity.manufacturer))
    expectTrue(Set(all.map(\.description)).count == all.count && all.count > 20)
    for component in all {
      expectEqual(list.next(after: nil, matching: component.description)?.number, component.number)
    }
  }

  /// The first searches of several threads all find plugins, whichever of them reads the bundles.
  @Test func firstSearchesAtOnce() throws {
    let description = PluginIdentity.description(
      of: try world.description(of: "http://lv2plug.in/plugins/eg-amp"))
    for _ in 0..<10 {
      let list = ComponentList { [world] in world }
      let found = Flag()
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        if list.next(after: nil, matching: description) != nil { found.raise() }
      }
      expectEqual(found.count, 8)
    }
  }

  @Test("55: groups of ports are buses, CV ports are none")
  func layouts() throws {
    try require(!world.uris.isEmpty)
    for uri in world.uris {
      let plugin = try world.description(of: uri)
      let layout = PluginLayout(plugin)
      let planes = layout.planes(instances: 1)
      expectEqual(planes.inputs.count, plugin.planes(.input).count, "\(uri)")
      expectEqual(planes.outputs.count, plugin.planes(.output).count, "\(uri)")
      let audio = plugin.planes(.input).filter { $0.kind == .audio }.count
      expectEqual(layout.inputs.reduce(0, +), audio, "\(uri)")
    }
  }

  @Test("a render of a plugin allocates, locks and retains nothing, whatever is set")
  func realTime() throws {
    try require(cue_probe_works() || isSanitized)
    let unit = try make("http://lv2plug.in/plugins/eg-amp")
    try unit.setCallback(Self.ones, nil, 0)
    try unit.initialize()
    let output = Output(channels: 2)
    let (render, switches, list) = (unit.render, unit.switches.switches, output.list)
    var time = output.time
    var flags: UInt32 = 0
    var failures: Int32 = 0
    cue_probe_enter()
    for i in 0..<60 {
      let frames = i % 3 == 0 ? 1024 : i % 3 == 1 ? 64 : 480
      if i == 20 { switches.pointee.bypass(true) }
      if i == 40 { switches.pointee.bypass(false) }
      failures |= render.pointee.setParameter(0, scope: 0, element: 0, to: Float(-i))
      failures |= render.pointee.schedule(
        0, scope: 0, element: 0, start: 10, frames: 0, from: 3, to: 3)
      failures |= render.pointee.schedule(
        0, scope: 0, element: 0, start: 20, frames: 300, from: 3, to: 0)
      list.pointee.count = 2
      let buffers = cue_rt_buffers(list)
      for channel in 0..<2 {
        buffers[channel] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: nil)
      }
      failures |= render.pointee.render(&flags, &time, bus: 0, frames: frames, list)
      time.sample_time += Double(frames)
    }
    let counts = cue_probe_leave()
    expectEqual(failures, 0)
    expectTrue(counts.allocations == 0 && counts.frees == 0 && counts.locks == 0)
    expectTrue(counts.retains == 0 && counts.releases == 0, "\(counts)")
    expectEqual(output.samples(1, 480).last, 1)
    unit.dispose()
  }

  @Test("56: a mixer follows scheduled changes to the frame")
  func scheduledGains() throws {
    let mixer = try MixerUnit(.multiChannelMixer, .multiChannel)
    try mixer.setFormat(planar(2), .output, 0)
    try mixer.setFormat(planar(2), .input, 0)
    try mixer.setCallback(Self.ones, nil, 0)
    try mixer.initialize()
    let output = Output(channels: 2)
    expectEqual(output.render(mixer, frames: 64), 0)
    // The input's volume at frames 10 and 20, a ramp of the output's from 30 to 50.
    expectEqual(schedule(mixer, 0, 1, start: 20, to: 0.25), 0)
    expectEqual(schedule(mixer, 0, 1, start: 10, to: 0.5), 0)
    expectEqual(schedule(mixer, 0, 2, start: 30, frames: 20, from: 1, to: 0.5), 0)
    expectEqual(output.render(mixer, frames: 64), 0)
    let samples = output.samples(0, 64)
    expectTrue(samples[..<10].allSatisfy { $0 == 1 })
    expectTrue(samples[10..<20].allSatisfy { $0 == 0.5 })
    expectTrue(samples[20..<30].allSatisfy { $0 == 0.25 })
    for i in 30..<50 {
      let gain = 1 - 0.5 * Float(i - 29) / 20
      expectTrue(abs(samples[i] - 0.25 * gain) < 1e-6, "\(i)")
    }
    expectTrue(samples[50...].allSatisfy { $0 == 0.125 })
    // A ramp over two renders is scheduled for each of them.
    expectEqual(schedule(mixer, 0, 2, start: 0, frames: 128, from: 0.5, to: 1), 0)
    expectEqual(output.render(mixer, frames: 64), 0)
    expectTrue(abs(output.samples(1, 64)[63] - 0.25 * 0.75) < 1e-6)
    expectEqual(schedule(mixer, 0, 2, start: -64, frames: 128, from: 0.5, to: 1), 0)
    expectEqual(output.render(mixer, frames: 64), 0)
    expectTrue(abs(output.samples(1, 64)[63] - 0.25) < 1e-6)
    expectEqual(output.render(mixer, frames: 64), 0)
    expectTrue(output.samples(1, 64).allSatisfy { $0 == 0.25 })
    expectEqual(schedule(mixer, 0, 1, start: 0, to: .nan), RenderError.badArgument)
    expectEqual(schedule(mixer, 9, 1, start: 0, to: 1), RenderError.invalidParameter)
    mixer.dispose()
  }

  @Test("56: changes of many threads all arrive, and too many are refused")
  func manyThreads() throws {
    let mixer = try MixerUnit(.multiChannelMixer, .multiChannel)
    try mixer.setCallback(Self.ones, nil, 0)
    try mixer.initialize()
    for i in 0..<ChangeQueue.capacity { expectEqual(schedule(mixer, 0, 1, start: i, to: 1), 0) }
    expectEqual(schedule(mixer, 0, 1, start: 0, to: 1), RenderError.memoryFull)
    let output = Output(channels: 2)
    expectEqual(output.render(mixer, frames: 512), 0)
    // Each thread's last change is that of its own bus.
    mixer.uninitialize()
    try mixer.setBusCount(4, .input)
    for bus in 0..<4 { try mixer.setCallback(Self.ones, nil, UInt32(bus)) }
    try mixer.initialize()
    let isOver = Flag()
    let threads = (0..<4).map { bus in
      Thread {
        for i in 1...2000 {
          while mixer.render.pointee.schedule(
            0, scope: 1, element: UInt32(bus), start: 0, frames: 0, from: 0,
            to: Float(i) / 2000) != 0
          { usleep(100) }
        }
        isOver.raise()
      }
    }
    threads.forEach { $0.start() }
    while isOver.count < 4 { expectEqual(output.render(mixer, frames: 64), 0) }
    for _ in 0..<4 { expectEqual(output.render(mixer, frames: 64), 0) }
    for bus in 0..<4 {
      var value: Float = 0
      expectEqual(
        mixer.render.pointee.parameter(0, scope: 1, element: UInt32(bus), into: &value), 0)
      expectEqual(value, 1)
    }
    mixer.dispose()
  }

  @Test("57: settings come back, from any thread, while renders go on")
  func settingsWhileRendering() throws {
    let unit = try make("http://drobilla.net/plugins/mda/Detune")
    try unit.setCallback(Self.ones, nil, 0)
    try unit.initialize()
    let output = Output(channels: 2)
    expectEqual(unit.render.pointee.setParameter(1, scope: 0, element: 0, to: 0.375), 0)
    let saved = try unit.settings()
    let isOver = Flag()
    let thread = Thread {
      for i in 0..<20 {
        _ = unit.render.pointee.setParameter(1, scope: 0, element: 0, to: Float(i) / 32)
        try? unit.restore(saved)
      }
      isOver.raise()
    }
    thread.start()
    while isOver.count == 0 { expectEqual(output.render(unit, frames: 64), 0) }
    var value: Float = 0
    expectEqual(unit.render.pointee.parameter(1, scope: 0, element: 0, into: &value), 0)
    expectEqual(value, 0.375)
    unit.dispose()
    expectEqual(output.render(unit, frames: 64), RenderError.uninitialized)
  }

  /// Renders a second of a deterministic input, and returns its last quarter.
  private func second(of unit: LV2Unit) throws -> [[Float]] {
    let channels = try unit.bus(.output, 0).format.channels
    let output = Output(channels: channels)
    var found = Array(repeating: [Float](), count: channels)
    for i in 0..<94 {
      expectEqual(output.render(unit, frames: 512), 0)
      if i < 70 { continue }
      for channel in 0..<channels { found[channel] += output.samples(channel, 512) }
    }
    return found
  }

  /// Ones and zeros in turn.
  private static let pulses: cue_render_proc = { _, _, time, _, frames, list in
    let buffers = cue_rt_buffers(list!)
    for channel in 0..<Int(list!.pointee.count) {
      let samples = buffers[channel].data!.assumingMemoryBound(to: Float.self)
      for i in 0..<Int(frames) {
        samples[i] = (Int(time.pointee.sample_time) + i) % 100 < 50 + channel ? 0.25 : -0.25
      }
    }
    return 0
  }

  /// Those of lv2-examples, mda-lv2 and ours.
  @Test("55, 57: every plugin can be made, asked, rendered, saved and restored")
  func everyPlugin() throws {
    let built = repository.appendingPathComponent(".build/lv2").path
    let made = try run("make", ["-C", "Plugins", "OUT=\(built)"], folder: repository)
    try require(made.status == 0, "\(made.errors)")
    let world = World(path: "\(built):/usr/lib/lv2")
    let families = [
      "urn:cuejack:", "http://lv2plug.in/plugins/eg-", "http://drobilla.net/plugins/mda/",
    ]
    let uris = world.uris.filter { uri in families.contains { uri.hasPrefix($0) } }
    expectTrue(uris.count > 50)
    var parameters = 0
    for uri in uris {
      func make() throws -> LV2Unit {
        let unit = try LV2Unit(world.description(of: uri), in: world)
        for bus in 0..<unit.busCount(.input) {
          let channels = try unit.bus(.input, UInt32(bus)).format.channels
          try unit.setFormat(planar(channels), .input, UInt32(bus))
          try unit.setCallback(Self.pulses, nil, UInt32(bus))
        }
        try unit.setFormat(
          planar(unit.bus(.output, 0).format.channels), .output, 0)
        return unit
      }
      let unit = try make()
      for parameter in unit.parameters(nil, bus: 0) {
        parameters += 1
        expectTrue(parameter.range.contains(parameter.standard), "\(uri), \(parameter.name)")
        // A quarter of the way, in whole steps where there are only those.
        let range = parameter.range
        let value = range.lowerBound + (range.upperBound - range.lowerBound) / 4
        let isWhole = parameter.meaning == .indexed || parameter.meaning == .boolean
        expectEqual(
          unit.render.pointee.setParameter(
            parameter.id, scope: 0, element: 0, to: isWhole ? value.rounded() : value), 0)
      }
      try unit.initialize()
      expectTrue(unit.latencySeconds >= 0 && unit.latencySeconds < 1)
      let first = try second(of: unit)
      expectTrue(first.allSatisfy { $0.allSatisfy(\.isFinite) }, "\(uri)")
      let settings = try unit.settings()
      unit.dispose()
      // Two that are restored sound the same.
      let sounds = try (0..<2).map { _ in
        let other = try make()
        try other.restore(settings)
        try expectEqual(other.settings().values, settings.values, "\(uri)")
        try other.initialize()
        defer { other.dispose() }
        return try second(of: other)
      }
      // The sound of these two is never the same again.
      let varies = ["RezFilter", "VocInput"].contains { uri.hasSuffix("/mda/\($0)") }
      expectTrue(sounds[0] == sounds[1] || varies, "\(uri)")
    }
    expectTrue(parameters > uris.count)
  }

  @Test("55: a plugin that cannot be instantiated says why")
  func refusals() throws {
    let unit = try make("http://lv2plug.in/plugins/eg-amp")
    #expect(throws: UnitError.self) { try unit.restore(pluginState: "nothing") }
    #expect(throws: UnitError.self) { try unit.send(midi: [0x90, 60, 100], offset: 0) }
    expectTrue(unit.presets.isEmpty)
    #expect(throws: UnitError.self) { try unit.setPreset(UnitPreset(number: 0, name: "")) }
    unit.dispose()
  }
}

/// Counts what threads have finished.
private final class Flag: @unchecked Sendable {
  private let lock = NSLock()
  private var raised = 0
  var count: Int {
    lock.lock()
    defer { lock.unlock() }
    return raised
  }
  func raise() {
    lock.lock()
    defer { lock.unlock() }
    raised += 1
  }
}
