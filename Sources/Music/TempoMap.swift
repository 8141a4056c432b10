package import RealTime

/// The tempos and time signatures of a sequence. A value.
package struct TempoMap: Sendable, Equatable {
  /// At least one, in order of time.
  package let points: [TempoPoint]
  /// Time signatures in order of time, the first at beat 0: beats of a bar, and what a beat of them is of a whole note.
  package let signatures: [(beat: Double, count: Int, unit: Int)]

  /// Tempo of a sequence that has none, in beats a minute.
  package static let standardTempo = 120.0
  /// Beats a minute that a tempo can have.
  package static let tempos = 1e-3...1e6

  package static func == (a: TempoMap, b: TempoMap) -> Bool { a.points == b.points }

  /// - Parameter events: Of the tempo track, in order of time.
  package init(_ events: [TrackEvent]) {
    var points = [TempoPoint(beat: 0, seconds: 0, secondsPerBeat: 60 / Self.standardTempo)]
    var signatures = [(beat: 0.0, count: 4, unit: 4)]
    for event in events {
      switch event.content {
      case .tempo(let tempo):
        let last = points[points.count - 1]
        let beat = max(0, event.beat)
        let seconds = last.seconds + (beat - last.beat) * last.secondsPerBeat
        if last.beat == beat { points.removeLast() }
        points.append(TempoPoint(beat: beat, seconds: seconds, secondsPerBeat: 60 / tempo))
      case .meta(0x58, let content) where content.count >= 2 && content[0] > 0 && content[1] < 7:
        if signatures[signatures.count - 1].beat == event.beat { signatures.removeLast() }
        signatures.append((max(0, event.beat), Int(content[0]), 1 << Int(content[1])))
      default: break
      }
    }
    self.points = points
    self.signatures = signatures
  }

  private func with<Result>(_ body: (TempoPoints) -> Result) -> Result {
    unsafe points.withUnsafeBufferPointer {
      body(unsafe TempoPoints($0.baseAddress!, count: $0.count))
    }
  }

  /// Returns the time of a beat in seconds.
  package func seconds(at beat: Double) -> Double { with { $0.seconds(at: beat) } }
  /// Returns the beat at a time in seconds.
  package func beat(at seconds: Double) -> Double { with { $0.beat(at: seconds) } }

  /// A beat of a bar, both counted from 1, with a share of it in so many parts.
  package struct BarBeat: Sendable, Equatable {
    package var bar: Int
    package var beat: Int
    package var part: Int
    package var parts: Int
    package init(bar: Int, beat: Int, part: Int, parts: Int) {
      self.bar = bar
      self.beat = beat
      self.part = part
      self.parts = parts
    }
  }

  /// Quarter notes of a bar, and of its beats.
  private func lengths(_ signature: (beat: Double, count: Int, unit: Int)) -> (
    bar: Double, beat: Double
  ) {
    let beat = 4 / Double(signature.unit)
    return (beat * Double(signature.count), beat)
  }

  /// The signatures with the number of the bar that each begins. A signature within a bar begins another.
  private var bars: [(bar: Int, signature: (beat: Double, count: Int, unit: Int))] {
    var bar = 1
    return signatures.indices.map { i in
      if i > 0 {
        let last = signatures[i - 1]
        let count = (signatures[i].beat - last.beat) / lengths(last).bar
        bar += Int((count - 1e-9).rounded(.up).clamped(to: 0...1e9))
      }
      return (bar, signatures[i])
    }
  }

  /// Returns the bar of a beat.
  package func barBeat(at beat: Double, parts: Int) -> BarBeat {
    let present = bars.last { $0.signature.beat <= beat } ?? bars[0]
    let (barLength, beatLength) = lengths(present.signature)
    let parts = max(1, parts)
    // In parts of a beat, so that 2.9999 is no beat before 3.
    let total = ((beat - present.signature.beat) / beatLength * Double(parts)).rounded()
      .clamped(to: -1e15...1e15)
    let perBar = (barLength / beatLength).rounded() * Double(parts)
    let bar = (total / perBar).rounded(.down)
    let rest = Int(total - bar * perBar)
    return BarBeat(
      bar: present.bar + Int(bar), beat: 1 + rest / parts, part: rest % parts, parts: parts)
  }

  /// Returns the beat of a bar's beat.
  package func beat(of place: BarBeat) -> Double {
    let present = bars.last { $0.bar <= place.bar } ?? bars[0]
    let (barLength, beatLength) = lengths(present.signature)
    return present.signature.beat + Double(place.bar - present.bar) * barLength
      + (Double(place.beat - 1) + Double(place.part) / Double(max(1, place.parts))) * beatLength
  }
}

extension Double {
  func clamped(to range: ClosedRange<Double>) -> Double {
    isNaN ? range.lowerBound : Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
  }
}
