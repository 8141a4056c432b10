import CPluginRunner
import Graph

/// The validation of one plugin, in the calling process, which the plugin may crash.
package struct PluginValidation {
  private let uri: String
  private let world: World
  /// Called before each step with a description of it.
  private let phase: (String) -> Void
  private var report = ValidationReport()

  private init(_ uri: String, in world: World, phase: @escaping (String) -> Void) {
    self.uri = uri
    self.world = world
    self.phase = phase
  }

  package static func run(
    _ uri: String, in world: World, _ length: ValidationLength, phase: @escaping (String) -> Void
  ) -> ValidationReport {
    var validation = PluginValidation(uri, in: world, phase: phase)
    do throws(HostError) {
      switch length {
      case .short: try validation.short()
      case .full(let seconds): try validation.full(seconds)
      }
    } catch {
      validation.report.failures.append("failed: \(error)")
    }
    return validation.report
  }

  private mutating func short() throws(HostError) {
    try trying(48000) { validation, plugin, driver throws(HostError) in
      validation.phase("runs")
      for frames in [256, 64, 17, 1024] {
        Self.sendNote(plugin, driver)
        driver.run(frames: frames)
      }
      validation.judge(plugin, driver, "with its default controls")
    }
  }

  private mutating func full(_ seconds: Double) throws(HostError) {
    for rate in [44100.0, 48000, 96000] { try runBlocks(rate, seconds) }
    try turnControls()
    try saveAndRestore()
    try loadPresets()
    try changeBlockLength()
    try runOffline(seconds)
  }

  /// Calls `body` with a new instance, which it frees afterwards.
  private mutating func trying(
    _ rate: Double, isOffline: Bool = false,
    _ body: (inout PluginValidation, PluginInstance, NodeDriver) throws(HostError) -> Void
  ) throws(HostError) {
    phase("is instantiated at \(Int(rate)) Hz")
    let plugin = try PluginInstance(
      uri, in: world,
      settings: PluginSettings(sampleRate: rate, maximumFrames: 1024, isOffline: isOffline))
    let driver = driver(plugin)
    try body(&self, plugin, driver)
    phase("is deactivated and freed")
    withExtendedLifetime((plugin, driver)) {}
  }

  private func driver(_ plugin: PluginInstance) -> NodeDriver {
    NodeDriver(plugin, maximumFrames: 4096, eventBytes: plugin.eventBytes)
  }

  /// Sends a note-on and a note-off to plugins that accept MIDI, and a transport position to those that
  /// accept one.
  private static func sendNote(_ plugin: PluginInstance, _ driver: NodeDriver) {
    if plugin.accepts(LV2.midi("MidiEvent")) {
      let key = UInt8(36 + driver.frame / 64 % 60)
      try? plugin.send(midi: [0x90, key, 100], at: driver.frame)
      try? plugin.send(midi: [0x80, key, 0], at: driver.frame + 16)
    }
    if plugin.accepts(LV2.time("Position")) {
      try? plugin.send(
        TransportPosition(frame: driver.frame, speed: 1, beatsPerMinute: 120), at: driver.frame)
    }
  }

  private mutating func judge(_ plugin: PluginInstance, _ driver: NodeDriver, _ when: String) {
    if !driver.isFinite { report.failures.append("writes samples that are no numbers, \(when)") }
    let latency = plugin.reportedLatency
    if !(abs(latency - Float(plugin.latencyFrames)) < 1) {
      report.failures.append("says that its latency is \(latency) frames")
    }
  }

  // MARK: The steps

  private mutating func runBlocks(_ rate: Double, _ seconds: Double) throws(HostError) {
    try trying(rate) { validation, plugin, driver throws(HostError) in
      for length in [64, 17, 1024] {
        let phase = "runs in blocks of \(length) frames at \(Int(rate)) Hz"
        validation.phase(phase)
        let end = driver.frame + Int64(seconds / 3 * rate)
        var blocks = 0
        while driver.frame < end {
          if blocks % 8 == 0 { Self.sendNote(plugin, driver) }
          driver.run(frames: length)
          blocks += 1
          // Show that a long run makes progress.
          if blocks % 4096 == 0 { validation.phase(phase) }
        }
      }
      validation.judge(plugin, driver, "with its default controls at \(Int(rate)) Hz")
    }
  }

  private mutating func turnControls() throws(HostError) {
    try trying(48000) { validation, plugin, driver throws(HostError) in
      for port in plugin.core.memory.controls {
        guard let range = port.bounds(sampleRate: 48000) else { continue }
        validation.phase("has its control “\(port.symbol)” turned")
        for part: Float in [0, 0.25, 0.5, 0.75, 1] {
          let value = port.value(at: part, of: range)
          try plugin.set(port.symbol, to: value, at: driver.frame + 20, over: part == 1 ? 64 : 0)
          driver.run(frames: 256)
        }
        if let usual = port.defaultValue, range ~= usual { try plugin.set(port.symbol, to: usual) }
        driver.run(frames: 64)
      }
      if !driver.isFinite {
        validation.report.remarks.append(
          "writes samples that are no numbers at some of its controls' values")
      }
    }
  }

  /// Saves and restores a state that differs from that of a new instance.
  private mutating func saveAndRestore() throws(HostError) {
    let scratch = ScratchFolder()
    guard scratch.make() else {
      throw .unwritableState(folder: scratch.path, reason: "it cannot be created")
    }
    let folder = scratch.path
    try trying(48000) { validation, plugin, driver throws(HostError) in
      driver.run(frames: 256)
      for port in plugin.core.memory.controls {
        guard let range = port.bounds(sampleRate: 48000) else { continue }
        try plugin.set(port.symbol, to: port.value(at: 0.25, of: range))
      }
      driver.run(frames: 256)
      validation.phase("saves its state")
      try plugin.save(to: folder + "/first")
      let state = try PluginState(folder: folder + "/first", world: validation.world)
      validation.phase("restores its state")
      let before = plugin.portValues
      try plugin.restore(state)
      driver.run(frames: 256)
      validation.compare(before, plugin.portValues, "its state was restored")
      validation.phase("restores its state in a new instance")
      let second = try plugin.replacement(restoring: state)
      let secondDriver = validation.driver(second)
      validation.phase("saves its state in a new instance")
      try second.save(to: folder + "/second")
      let again = try PluginState(folder: folder + "/second", world: validation.world)
      if !state.equals(again) {
        validation.report.remarks.append("saves something else after its state was restored")
      }
      secondDriver.run(frames: 256)
      validation.compare(before, second.portValues, "its state was restored in a new instance")
      validation.judge(second, secondDriver, "after its state was restored")
      validation.phase("is deactivated and freed")
      withExtendedLifetime((second, secondDriver)) {}
    }
  }

  /// Records controls whose values differ from the expected ones.
  private mutating func compare(
    _ before: [String: Float], _ after: [String: Float], _ event: String
  ) {
    for (symbol, value) in before.sorted(by: { $0.key < $1.key }) {
      guard let now = after[symbol] else { continue }
      // The text form of a state limits the digits.
      if !(abs(value - now) <= 1e-4 * max(1, abs(value))) {
        report.failures.append(
          "has its control “\(symbol)” at \(now), not at \(value), after \(event)")
      }
    }
  }

  private mutating func loadPresets() throws(HostError) {
    let presets = try world.description(of: uri).presets
    if presets.isEmpty { return }
    try trying(48000) { validation, plugin, driver throws(HostError) in
      for preset in presets {
        validation.phase("loads its preset “\(preset.label)”")
        let state = try validation.world.preset(preset.uri, of: validation.uri)
        try plugin.restore(state)
        driver.run(frames: 256)
        let wanted = state.portValues.filter { $0.value.isFinite }
        validation.compare(wanted, plugin.portValues, "its preset “\(preset.label)” was loaded")
      }
      if !driver.isFinite {
        validation.report.remarks.append(
          "writes samples that are no numbers with one of its presets")
      }
    }
  }

  private mutating func changeBlockLength() throws(HostError) {
    try trying(48000) { validation, plugin, driver throws(HostError) in
      driver.run(frames: 1024)
      let before = plugin.portValues
      for length in [2048, 128, 4096] {
        validation.phase("is told of blocks of \(length) frames")
        try plugin.prepare(sampleRate: 48000, maximumFrames: length)
        driver.run(frames: length)
      }
      validation.phase("is told of another rate")
      try plugin.prepare(sampleRate: 44100, maximumFrames: 512)
      driver.run(frames: 512)
      validation.compare(before, plugin.portValues, "its block length and rate changed")
      validation.judge(plugin, driver, "after its block length changed")
    }
  }

  private mutating func runOffline(_ seconds: Double) throws(HostError) {
    try trying(48000, isOffline: true) { validation, plugin, driver throws(HostError) in
      driver.isFreewheeling = true
      validation.phase("runs offline")
      let end = driver.frame + Int64(seconds / 3 * 48000)
      while driver.frame < end {
        Self.sendNote(plugin, driver)
        driver.run(frames: 1024)
      }
      validation.judge(plugin, driver, "offline")
    }
  }
}

extension PluginInstance {
  /// The values that the plugin reads from its control ports, by symbol. Ports that the host sets, and
  /// triggers, are left out. Precondition: no cycle runs it.
  fileprivate var portValues: [String: Float] {
    var values: [String: Float] = [:]
    for (i, port) in core.memory.controls.enumerated()
    where !port.isTrigger && port.designation != LV2.core("freeWheeling") {
      values[port.symbol] = unsafe core.memory.control(i).pointee.value
    }
    return values
  }
}

extension PluginPort {
  /// Returns the bounds of the control, or nil if the bundle does not give them.
  fileprivate func bounds(sampleRate: Double) -> ClosedRange<Float>? {
    let range = range(sampleRate: sampleRate)
    guard let low = range.minimum, let high = range.maximum, low <= high, low.isFinite,
      high.isFinite
    else { return nil }
    return low...high
  }

  /// Returns the allowed value nearest to a fraction of the control's range.
  fileprivate func value(at part: Float, of range: ClosedRange<Float>) -> Float {
    var value = min(
      range.upperBound, range.lowerBound + (range.upperBound - range.lowerBound) * part)
    if isInteger || isEnumeration || isToggled { value = value.rounded() }
    if isToggled { value = part < 0.5 ? max(0, range.lowerBound) : range.upperBound }
    return min(max(value, range.lowerBound), range.upperBound)
  }
}
