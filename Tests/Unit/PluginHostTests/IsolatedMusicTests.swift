import CRealTime
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Graph
@testable import PluginHost

/// Controllers and transport with isolated plugins.
@Suite(.serialized) struct IsolatedMusicTests {
  private let gain = MIDIBinding(
    MIDIController("cc7@2")!, to: MIDITarget("gain", low: -40, high: 0))

  private func isolated(_ name: String) throws -> IsolatedPlugin {
    try IsolatedPlugin(examples + name, in: installed, settings: usual, program: isolation())
  }

  private func plain(_ name: String) throws -> PluginInstance {
    try PluginInstance(examples + name, in: installed, settings: usual)
  }

  /// Returns a plugin's output in freewheel mode.
  private func sound(
    _ plugin: any GraphNode, frames: Int, blocks: [Int], controllers: [TimedEvent] = [],
    transport: ((Int64) -> cue_transport)? = nil
  ) -> [Float] {
    let run = HandRun(plugin)
    run.isFreewheeling = true
    run.transport = transport
    let ones = [[Float](repeating: 1, count: frames)]
    return run.run(
      plugin.inputs == 0 ? [] : ones, frames: frames, blocks: blocks, controllers: controllers
    ).sound[0]
  }

  private func late(_ sound: [Float]) -> [Float] {
    [Float](repeating: 0, count: usual.maximumFrames) + sound.dropLast(usual.maximumFrames)
  }

  @Test(arguments: [[1024], [64, 17], [1]])
  func aControllerMovesAControlFromItsFrameOn(blocks: [Int]) throws {
    let (here, there) = try (plain("amp"), isolated("amp"))
    for plugin in [here, there] as [any HostedPlugin] { try plugin.bind(gain) }
    expectEqual(there.bindings, [gain])
    let moves = [(100, 0), (101, 64), (1200, 127)].map {
      TimedEvent(frame: $0.0, bytes: [0xb1, 7, UInt8($0.1)])
    }
    let expected = sound(here, frames: 4000, blocks: blocks, controllers: moves)
    expectTrue(Set(expected).count > 20)
    expectEqual(sound(there, frames: 4000, blocks: blocks, controllers: moves), late(expected))
    try expectEqual(there.value(of: "gain"), 0)
    try there.unbind("gain")
    expectTrue(there.bindings.isEmpty)
  }

  @Test func aControllerIsLearned() throws {
    let plugin = try isolated("amp")
    let learned = Mutex<[MIDIBinding]>([])
    try plugin.learn(MIDITarget("gain")) { binding in learned.withLock { $0.append(binding) } }
    expectEqual(plugin.learning, MIDITarget("gain"))
    let move = [TimedEvent(frame: 10, bytes: [0xb4, 21, 127])]
    _ = sound(plugin, frames: 1024, blocks: [1024], controllers: move)
    let bound = MIDIBinding(MIDIController("cc21@5")!, to: MIDITarget("gain"))
    expectTrue(waits { learned.withLock { $0 } == [bound] })
    expectTrue(plugin.bindings == [bound] && plugin.learning == nil)
    try expectEqual(plugin.value(of: "gain"), 24)

    // Another instance takes over the bindings and the learning request.
    try plugin.learn(MIDITarget("gain")) { binding in learned.withLock { $0.append(binding) } }
    let second = try plugin.replacement(restoring: plugin.capture())
    expectTrue(plugin.learning == nil && second.bindings == [bound])
    let other = [TimedEvent(frame: 10, bytes: [0xb0, 22, 0])]
    _ = sound(second, frames: 1024, blocks: [1024], controllers: other)
    expectTrue(waits { learned.withLock { $0.count } == 2 })
    expectEqual(second.bindings.map(\.controller), [MIDIController("cc22@1")!])

    try second.learn(MIDITarget("gain"))
    second.cancelLearning()
    expectNil(second.learning)
    #expect(throws: HostError.unknownPort(plugin: examples + "amp", symbol: "volume")) {
      try second.learn(MIDITarget("volume"))
    }
  }

  /// The callback for a learned controller may send requests to the plugin.
  @Test func learningLeadsToMoreLearning() throws {
    let plugin = try isolated("amp")
    let learned = Mutex<[MIDIBinding]>([])
    try plugin.learn(MIDITarget("gain")) { [weak plugin] _ in
      try? plugin?.learn(MIDITarget("gain")) { binding in learned.withLock { $0.append(binding) } }
    }
    for (number, isOver) in [
      (20, { plugin.bindings.count == 1 && plugin.learning != nil }),
      (21, { learned.withLock { $0.count } == 1 }),
    ] as [(UInt8, () -> Bool)] {
      let move = [TimedEvent(frame: 10, bytes: [0xb0, number, 64])]
      _ = sound(plugin, frames: 1024, blocks: [1024], controllers: move)
      expectTrue(waits(for: isOver))
    }
    expectEqual(plugin.bindings.map(\.controller), [MIDIController("cc21@1")!])
  }

  @Test func theTransportIsTold() throws {
    func transport(_ frame: Int64) -> cue_transport {
      var now = cue_transport()
      now.frame = frame
      now.frames_per_second = 48000
      now.is_rolling = true
      now.has_beats = true
      now.beat_unit = 4
      now.beats_per_bar = 4
      now.beats_per_minute = 120
      let beats = Double(frame) / 24000
      now.bar = Int64(beats / 4)
      now.bar_beat = beats - 4 * Double(now.bar)
      return now
    }
    let expected = try sound(plain("metro"), frames: 60000, blocks: [512], transport: transport)
    expectTrue(expected.contains { $0 != 0 })
    let found = try sound(isolated("metro"), frames: 60000, blocks: [512], transport: transport)
    expectEqual(found, late(expected))
  }
}
