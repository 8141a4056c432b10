public import AudioToolbox
import AudioUnits
import Hardware
import Music
import Synchronization

/// An engine that plays a sequence: the renders of its output node are the sequence's time.
final class EngineTarget: SequenceTarget {
  @safe private struct Engine: Sendable { weak var engine: AVAudioEngine? }
  private let owner: Mutex<Engine>

  init(_ engine: AVAudioEngine) { owner = Mutex(Engine(engine: engine)) }

  var engine: AVAudioEngine? { owner.withLock { $0.engine } }

  func prepare() throws(MusicError) {
    guard let engine else { throw .noDestination("the engine is gone") }
    engine.prepare()
  }

  /// The program starts the engine.
  func start() throws(MusicError) {}

  var clock: AudioUnits.Unit? { engine?.outputNode.unit }

  /// The instrument that was connected first.
  var instrument: AudioUnits.Unit? {
    guard let engine else { return nil }
    return engine.edit {
      engine.connections.lazy.compactMap { $0.source as? AVAudioUnitMIDIInstrument }.first?.core
    }
  }

  func unit(ofNode node: Int32) -> AudioUnits.Unit? { nil }

  var device: HardwareDevice? {
    engine.flatMap { $0.isInManualRenderingMode ? nil : $0.live.device }
  }
}

extension AVAudioEngine {
  /// A sequence of MusicPlayer.h whose tracks without a node are played by the first instrument of the engine; nil for
  /// none. The engine does not keep it.
  public var musicSequence: MusicSequence? {
    get { unsafe sequence.flatMap { unsafe reference(of: $0) } }
    set {
      let next = unsafe eventSequence(newValue)
      if let old = sequence, old !== next { try? old.setTarget(nil) }
      do throws(MusicError) { try next?.setTarget(EngineTarget(self)) } catch {
        refuse("AVAudioEngine.musicSequence: \(error.reason)")
      }
      sequence = next
    }
  }
}
