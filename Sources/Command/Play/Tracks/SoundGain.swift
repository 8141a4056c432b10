import Files
import Sessions
import Synchronization

/// The factor by which --replaygain changes a sound. Any thread.
final class SoundGain: Sendable {
  private let sound: any SoundSource
  private let path: String
  /// The factor without tags.
  private let fallback: Float
  /// The tags once they were read; their gains are nil if they cannot be.
  private let tags = Mutex<ReplayGain?>(nil)
  private let bits = Atomic<UInt32>(Float(1).bitPattern)

  init(of sound: any SoundSource, _ path: String, fallback: Float) {
    self.sound = sound
    self.path = path
    self.fallback = fallback
  }

  var factor: Float { Float(bitPattern: bits.load(ordering: .relaxed)) }

  /// Takes the gain of some tags, which are read and whose faults are reported when they are first needed; 0 dB if
  /// `scope` is nil.
  func choose(_ scope: ReplayGain.Scope?) {
    let level = scope.flatMap { scope in
      tags.withLock {
        $0 = $0 ?? read(); return $0?.level(scope)
      }
    }
    let factor = level.map { Float($0.factor) } ?? (scope == nil ? 1 : fallback)
    bits.store(factor.bitPattern, ordering: .relaxed)
  }

  private func read() -> ReplayGain {
    do throws(SoundFileError) {
      let tags = try (sound as? SoundReader)?.file.replayGain()
      for fault in tags?.faults ?? [] { Screen.shared.complain("\(path): \(fault)") }
      return tags ?? ReplayGain([:])
    } catch {
      Screen.shared.complain("\(error)")
      return ReplayGain([:])
    }
  }
}
