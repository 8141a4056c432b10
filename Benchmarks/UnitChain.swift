import AudioUnits
import CRealTime
import Foundation
import Hardware
import PluginHost
import RealTime
import Server
import TestSupport

/// A row of LV2 plugins as audio units, each of which asks the one before it. Mono, driven by hand.
final class UnitChain {
  private let units: [LV2Unit]
  private let list = UnsafeMutablePointer<cue_buffer_list>.allocate(capacity: 1)
  private let input: UnsafeMutablePointer<Float>
  private var time = cue_time_stamp()

  /// - Parameter input: Samples that the first plugin gets in each render. They outlive the chain.
  init(
    _ plugins: [ChainPlugin], in world: World, period: Int, input: UnsafeMutablePointer<Float>
  ) throws {
    self.input = input
    time.flags = UInt32(cue_time_has_sample)
    guard let format = BusFormat.planar(channels: 1, sampleRate: 48000) else {
      preconditionFailure("mono is a format")
    }
    units = try plugins.map { plugin in
      try UnitChain.unit(plugin, in: world, format: format, period: period)
    }
    for (unit, source) in zip(units.dropFirst(), units) {
      try unit.connect(source, output: 0, to: 0)
    }
    try units[0].setCallback(
      { data, _, _, _, frames, list in
        let samples = cue_rt_buffers(list!)[0].data!
        samples.copyMemory(from: data!, byteCount: 4 * Int(frames))
        return 0
      }, UnsafeMutableRawPointer(input), 0)
    for unit in units { try unit.initialize() }
  }

  deinit {
    for unit in units { unit.dispose() }
    list.deallocate()
  }

  static func unit(
    _ plugin: ChainPlugin, in world: World, format: BusFormat, period: Int
  ) throws -> LV2Unit {
    let unit = try LV2Unit(world.description(of: plugin.uri), in: world)
    try unit.setMaximumFrames(max(period, 64))
    try unit.setFormat(format, .input, 0)
    try unit.setFormat(format, .output, 0)
    let parameters = unit.parameters(nil, bus: 0)
    for port in try world.description(of: plugin.uri).ports {
      guard let value = plugin.values[port.symbol],
        let parameter = parameters.first(where: { $0.name == port.name })
      else { continue }
      _ = unit.render.pointee.setParameter(parameter.id, scope: 0, element: 0, to: value)
    }
    return unit
  }

  /// Renders a number of cycles into `output`.
  func run(_ cycles: Int, frames: Int, output: UnsafeMutablePointer<Float>) {
    let last = units[units.count - 1].render
    let buffers = cue_rt_buffers(list)
    for _ in 0..<cycles {
      list.pointee.count = 1
      buffers[0] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: output)
      var flags: UInt32 = 0
      _ = last.pointee.render(&flags, &time, bus: 0, frames: frames, list)
      time.sample_time += Double(frames)
    }
  }
}

/// Plugins as audio units between the input and the output of an output unit on a server: in a row, or side by side
/// before a mixer.
final class UnitMix {
  private let output: OutputUnit
  private let units: [AudioUnits.Unit]

  init(
    _ plugins: [ChainPlugin], isMix: Bool, channels: Int, on server: String, named name: String
  ) throws {
    let device = HardwareDevice(JackServer(named: server), named: server, clientName: name)
    guard let output = try UnitKind.remoteIO.make(on: { device }) as? OutputUnit else {
      preconditionFailure("RemoteIO is an output unit")
    }
    self.output = output
    let rate = try output.bus(.output, 0).format.sampleRate
    guard let format = BusFormat.planar(channels: channels, sampleRate: rate) else {
      throw SupportError("no format of \(channels) channels at \(rate) Hz")
    }
    try output.setRecords(true)
    try output.setFormat(format, .output, 1)
    try output.setFormat(format, .input, 0)
    let world = World()
    let effects = try plugins.map {
      try UnitChain.unit($0, in: world, format: format, period: 8192)
    }
    for (i, effect) in effects.enumerated() {
      if i > 0 && !isMix {
        try effect.connect(effects[i - 1], output: 0, to: 0)
        continue
      }
      // Each of them gets the input of the output unit, which has it once for each cycle.
      try effect.setCallback(
        { data, flags, time, _, frames, list in
          data!.assumingMemoryBound(to: RenderUnit.self).pointee
            .render(flags, time, bus: 1, frames: Int(frames), list!)
        }, UnsafeMutableRawPointer(output.render), 0)
    }
    if isMix {
      let mixer = try UnitKind.multiChannelMixer.make(on: { device })
      try mixer.setBusCount(effects.count, .input)
      for (bus, effect) in effects.enumerated() {
        try mixer.setFormat(format, .input, UInt32(bus))
        try mixer.connect(effect, output: 0, to: UInt32(bus))
      }
      try mixer.setFormat(format, .output, 0)
      try mixer.setMaximumFrames(8192)
      units = effects + [mixer]
    } else {
      units = effects
    }
    try output.connect(units[units.count - 1], output: 0, to: 0)
    for unit in units { try unit.initialize() }
    try output.initialize()
    try output.start()
  }

  deinit {
    output.stop()
    for unit in [output] + units { unit.dispose() }
  }
}
