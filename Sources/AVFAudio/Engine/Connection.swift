import AudioUnits
import Foundation
import RealTime

/// A connection of an output to an input. The engine's lock guards what changes.
final class Connection {
  let source: AVAudioNode
  let output: AVAudioNodeBus
  let destination: AVAudioNode
  let input: AVAudioNodeBus
  let format: AVAudioFormat
  /// True for the one from the main mixer to the output that the engine has made by itself: it has the format of
  /// the sound card.
  let isOwn: Bool
  /// The settings for this mixer alone; nil until the app asks for them.
  var mixing: AVAudioMixingDestination?

  init(
    _ source: AVAudioNode, _ output: AVAudioNodeBus, _ destination: AVAudioNode,
    _ input: AVAudioNodeBus, _ format: AVAudioFormat, isOwn: Bool
  ) {
    self.source = source
    self.output = output
    self.destination = destination
    self.input = input
    self.format = format
    self.isOwn = isOwn
  }

  /// Gives the mixer's bus volume and pan.
  func apply(_ values: MixingSettings.Values) {
    guard let mixer = destination as? any MixingNode, let level = unsafe level else { return }
    let (volume, pan) = mixer.level(values, channels: format.channelCount)
    unsafe level.pointee.set(volume: volume)
    unsafe level.pointee.set(pan: pan)
  }

  /// Sets whether the sound fades in when the connection is made.
  func setFadesIn(_ on: Bool) { unsafe level?.pointee.setFadesIn(on) }

  /// Fades the sound out, or in again, within one render.
  func fade(out: Bool) { unsafe level?.pointee.fade(out: out) }

  /// The settings for the mixer.
  var settings: MixingSettings.Values {
    mixing?.placement ?? (source as? any MixedNode)?.placement ?? MixingSettings.Values()
  }

  /// Gives the mixer's bus its settings.
  func applySettings() { apply(settings) }

  /// Ends the connection: the input renders nothing more.
  func cut() {
    let inlet = destination.inlet(input)
    try? unsafe inlet.unit.setCallback(nil, nil, inlet.bus)
  }

  private var level: UnsafeMutablePointer<EngineMixerLevel>? {
    let inlet = destination.inlet(input)
    return unsafe (inlet.unit as? EngineMixerUnit)?.level(ofInput: Int(inlet.bus))
  }
}

/// The threads of an engine.
struct EngineThreads: Sendable {
  /// Calls the handlers of players.
  let handlers = EngineThread(named: "engine player")
  /// Calls the functions of taps.
  let taps = EngineThread(named: "engine tap")
  /// Reads files ahead.
  let files = EngineThread(named: "engine files")

  func end() { for thread in [handlers, taps, files] { thread.end() } }
}
