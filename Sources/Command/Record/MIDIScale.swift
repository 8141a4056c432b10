/// The ticks of a MIDI file: frames, where a file can have as many ticks of a quarter note.
struct MIDIScale {
  /// Microseconds of a quarter note.
  let tempo: Int
  let ticksPerQuarter: Int
  private let sampleRate: Double

  init(sampleRate: Double) {
    self.sampleRate = sampleRate
    func ticks(_ tempo: Int) -> Double { sampleRate * Double(tempo) / 1e6 }
    tempo =
      [500_000, 1_000_000, 250_000, 125_000].first { tempo in
        ticks(tempo) <= 0x7FFF && ticks(tempo) == ticks(tempo).rounded()
      } ?? 500_000
    ticksPerQuarter = Int(min(ticks(tempo).rounded(), 0x7FFF))
  }

  func ticks(_ frames: Int64) -> Int {
    Int((Double(frames) * Double(ticksPerQuarter) * 1e6 / (Double(tempo) * sampleRate)).rounded())
  }

  /// The frames of a time.
  func frames(nanoseconds: Int64) -> Int64 {
    Int64((Double(nanoseconds) * sampleRate / 1e9).rounded())
  }

  /// True for a number of frames that no late cycle explains: a tenth of a second.
  func isJump(_ frames: Int64) -> Bool { Double(abs(frames)) > sampleRate / 10 }
}
