import AudioQueue
import Glibc
import Sessions
import Synchronization
import System

/// The looks of the thread `cuejack-session` at the engine: MIDI, connections, recordings, the journal and the peaks.
extension RunningSession {
  /// Follows the engine. The session's thread.
  ///
  /// - Returns: False if nothing has to be followed until something is asked or happens.
  func service() -> Bool {
    guard let engine else { return false }
    engine.service()
    followMIDI(engine)
    followConnections(engine)
    followRecordings(engine)
    let isStill = engine.isStill
    let count = services.add(1, ordering: .relaxed).newValue
    if isStill || count % 20 == 0 { try? store?.keepJournal() }
    if isStill || count % 10 == 0 { engine.tellInputs() }
    let new = engine.takePeaks()
    let isSilent = peaks.withLock { peaks in
      let now = HostTime.now
      let fall = Float(pow(10, -Double(now &- peaks.hostTime) / 1e9))
      let old = peaks.values
      peaks = (
        new.enumerated().map { track, values in
          values.enumerated().map { channel, value in
            let isKnown = old.indices.contains(track) && old[track].indices.contains(channel)
            return isKnown ? max(value, old[track][channel] * fall) : value
          }
        }, now
      )
      // -80 dB
      return peaks.values.allSatisfy { $0.allSatisfy { $0 < 1e-4 } }
    }
    return !isStill || !isSilent
  }

  /// Ends recordings that cannot go on, and disarms those that have failed.
  private func followRecordings(_ engine: SessionEngine) {
    let failed = engine.takeFailedRecordings()
    let recordings = engine.document.recordings
    for (index, recording) in recordings.enumerated()
    where failed.contains(recording.name) && recording.armed {
      do throws(SessionRunError) {
        try setArmed([index], false)
      } catch {
        options.onMessage("\(error)")
      }
    }
  }

  /// The peaks of each track, behind its fader: 1 is full scale. They fall by 20 dB per second.
  package var trackPeaks: [[Float]] { peaks.withLock { $0.values } }
}

extension SessionEngine {
  /// Returns each track's peaks since the last call, behind its fader; 1 is full scale.
  func takePeaks() -> [[Float]] {
    let document = document
    return players.enumerated().map { index, player in
      guard let player else { return [] }
      let gain = document.gain(ofTrack: index)
      return player.queue.takePeaks().map { $0 * gain }
    }
  }
}
