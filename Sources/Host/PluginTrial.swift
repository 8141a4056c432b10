import CRealTime
import Foundation

/// What came of trying a plugin.
package struct TrialReport: Codable, Hashable, Sendable {
  /// What the plugin did wrong, in words that follow “it”; none if it is sound.
  package var failures: [String] = []
  /// What is odd, but does no harm.
  package var remarks: [String] = []

  package init(failures: [String] = [], remarks: [String] = []) {
    self.failures = failures
    self.remarks = remarks
  }
}

/// How thoroughly a plugin is tried.
package enum TrialLength: Codable, Hashable, Sendable {
  /// Instantiated, run for a few blocks, freed.
  case short
  /// Everything that a host may do to it, with so many seconds of noise at each rate.
  case full(seconds: Double)
}

/// One trial of one plugin, in this very process, which it may take down.
struct PluginTrial {
  private let uri: String
  private let world: World
  /// Called before each step with what the plugin is doing then.
  private let phase: (String) -> Void
  private var report = TrialReport()

  private init(_ uri: String, in world: World, phase: @escaping (String) -> Void) {
    self.uri = uri
    self.world = world
    self.phase = phase
  }

  static func run(
    _ uri: String, in world: World, _ length: TrialLength, phase: @escaping (String) -> Void
  ) -> TrialReport {
    var trial = PluginTrial(uri, in: world, phase: phase)
    do throws(HostError) {
      switch length {
      case .short: try trial.short()
      case .full(let seconds): try trial.full(seconds)
      }
    } catch {
      trial.report.failures.append("failed: \(error)")
    }
    return trial.report
  }

  private mutating func short() throws(HostError) {
    let plugin = try make(48000)
    let driver = driver(plugin)
    phase("runs")
    for frames in [256, 64, 17, 1024] {
      sendNote(plugin, driver)
      driver.run(frames: frames)
    }
    judge(plugin, driver, "with its default controls")
    phase("is freed")
  }

  private mutating func full(_ seconds: Double) throws(HostError) {
    for rate in [44100.0, 48000, 96000] {
      try freshInstance(rate, seconds)
      phase("is freed")
    }
    try turnControls()
    phase("is freed")
    try saveAndRestore()
    phase("is freed")
    try loadPresets()
    phase("is freed")
    try otherBlocks()
    phase("is freed")
    try offline(seconds)
    phase("is freed")
  }

  private func make(_ rate: Double, isOffline: Bool = false) throws(HostError) -> PluginInstance {
    phase("is instantiated at \(Int(rate)) Hz")
    return try PluginInstance(
      uri, in: world,
      settings: PluginSettings(sampleRate: rate, maximumFrames: 1024, isOffline: isOffline))
  }

  private func driver(_ plugin: PluginInstance) -> NodeDriver {
    NodeDriver(plugin, maximumFrames: 4096, eventBytes: plugin.eventBytes)
  }

  /// A key that is pressed and one that is let go, for plugins that take MIDI; a position for those that
  /// follow the music.
  private func sendNote(_ plugin: PluginInstance, _ driver: NodeDriver) {
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

  private mutating func freshInstance(_ rate: Double, _ seconds: Double) throws(HostError) {
    let plugin = try make(rate)
    let driver = driver(plugin)
    for length in [64, 17, 1024] {
      phase("runs in blocks of \(length) frames at \(Int(rate)) Hz")
      let end = driver.frame + Int64(seconds / 3 * rate)
      var blocks = 0
      while driver.frame < end {
        if blocks % 8 == 0 { sendNote(plugin, driver) }
        driver.run(frames: length)
        blocks += 1
        // A long run is to be seen to go on.
        if blocks % 4096 == 0 { phase("runs in blocks of \(length) frames at \(Int(rate)) Hz") }
      }
    }
    judge(plugin, driver, "with its default controls at \(Int(rate)) Hz")
  }

  private mutating func turnControls() throws(HostError) {
    let plugin = try make(48000)
    let driver = driver(plugin)
    for symbol in plugin.controls {
      guard let port = plugin.description.port(symbol) else { continue }
      let range = port.range(sampleRate: 48000)
      guard let low = range.minimum, let high = range.maximum, low <= high, low.isFinite,
        high.isFinite
      else { continue }
      phase("has its control “\(symbol)” turned")
      for part: Float in [0, 0.25, 0.5, 0.75, 1] {
        var value = min(high, low + (high - low) * part)
        if port.isInteger || port.isEnumeration || port.isToggled { value = value.rounded() }
        if port.isToggled { value = part < 0.5 ? min(max(0, low), high) : high }
        value = min(max(value, low), high)
        try plugin.set(symbol, to: value, at: driver.frame + 20, over: part == 1 ? 64 : 0)
        driver.run(frames: 256)
      }
      if let usual = range.default, low...high ~= usual { try plugin.set(symbol, to: usual) }
      driver.run(frames: 64)
    }
    if !driver.isFinite {
      report.remarks.append("writes samples that are no numbers at some of its controls' values")
    }
  }

  private mutating func saveAndRestore() throws(HostError) {
    let folder = NSTemporaryDirectory() + "cuejack-state-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let plugin = try make(48000)
    let driver = driver(plugin)
    driver.run(frames: 256)
    phase("saves its state")
    try plugin.save(to: folder)
    let state = try PluginState(folder: folder, world: world)
    phase("restores its state")
    try plugin.restore(state)
    driver.run(frames: 256)
    phase("restores its state in a new instance")
    let second = try plugin.replacement(restoring: state)
    let secondDriver = self.driver(second)
    secondDriver.run(frames: 256)
    for symbol in plugin.controls {
      let before = try plugin.value(of: symbol)
      let after = try second.value(of: symbol)
      // A state has as many digits as its text.
      if abs(before - after) > 1e-4 * max(1, abs(before)) {
        report.failures.append("does not keep “\(symbol)” in its state: \(before), then \(after)")
      }
    }
    judge(second, secondDriver, "after its state was restored")
  }

  private mutating func loadPresets() throws(HostError) {
    let presets = try world.description(of: uri).presets
    if presets.isEmpty { return }
    let plugin = try make(48000)
    let driver = driver(plugin)
    for preset in presets {
      phase("loads its preset “\(preset.label)”")
      try plugin.restore(world.preset(preset.uri, of: uri))
      driver.run(frames: 256)
    }
    if !driver.isFinite {
      report.remarks.append("writes samples that are no numbers with one of its presets")
    }
  }

  private mutating func otherBlocks() throws(HostError) {
    let plugin = try make(48000)
    let driver = driver(plugin)
    driver.run(frames: 1024)
    for length in [2048, 128, 4096] {
      phase("is told of blocks of \(length) frames")
      try plugin.prepare(sampleRate: 48000, maximumFrames: length)
      driver.run(frames: length)
    }
    phase("is told of another rate")
    try plugin.prepare(sampleRate: 44100, maximumFrames: 512)
    driver.run(frames: 512)
    judge(plugin, driver, "after its block length changed")
  }

  private mutating func offline(_ seconds: Double) throws(HostError) {
    let plugin = try make(48000, isOffline: true)
    let driver = driver(plugin)
    driver.isFreewheeling = true
    phase("runs offline")
    let end = driver.frame + Int64(seconds / 3 * 48000)
    while driver.frame < end {
      sendNote(plugin, driver)
      driver.run(frames: 1024)
    }
    judge(plugin, driver, "offline")
  }
}
