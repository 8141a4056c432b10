import Glibc

/// Four bars at 96 beats a minute and a last chord: twelve seconds for drums, bass and electric piano. The
/// peaks of the three add up to less than full scale, so that together they cannot clip.
enum DemoMusic {
  static let seconds = 12.0
  private static let beat = 60.0 / 96
  private static let bar = 4 * beat
  /// The second of each pair of sixteenths comes late by this share of a sixteenth.
  private static let swing = 0.18

  /// Seconds from the start of a sixteenth of a bar.
  private static func time(bar: Int, sixteenth: Int) -> Double {
    let late = sixteenth % 2 == 1 ? swing : 0
    return Double(bar) * Self.bar + (Double(sixteenth) + late) * beat / 4
  }

  // MARK: Click

  /// One bar of a metronome, which can be repeated without a gap.
  static func click(rate: Double) -> DemoSound {
    var sound = DemoSound(seconds: bar, rate: rate)
    for number in 0..<4 {
      let pitch = number == 0 ? 1600.0 : 1200.0
      sound.add(at: Double(number) * beat, seconds: 0.05, gain: number == 0 ? 1 : 0.7) { time in
        sin(2 * .pi * pitch * time) * exp(-time / 0.012) * min(1, time / 0.0005)
      }
    }
    sound.finish(peak: 0.5, fade: 0.01)
    return sound
  }

  // MARK: Drums

  static func drums(rate: Double) -> DemoSound {
    var sound = DemoSound(seconds: seconds, rate: rate)
    for bar in 0..<4 {
      for (sixteenth, gain) in bar % 2 == 0
        ? [(0, 1.0), (7, 0.7), (10, 0.9)] : [(0, 1.0), (3, 0.5), (10, 0.9), (15, 0.6)]
      {
        kick(&sound, at: time(bar: bar, sixteenth: sixteenth), gain: gain)
      }
      for sixteenth in [4, 12] {
        snare(&sound, at: time(bar: bar, sixteenth: sixteenth), gain: 0.55)
      }
      for sixteenth in 0..<16 {
        let gain = sixteenth % 4 == 0 ? 0.16 : sixteenth % 2 == 0 ? 0.24 : 0.09
        hat(
          &sound, at: time(bar: bar, sixteenth: sixteenth), gain: gain,
          open: sixteenth == 14 && bar % 2 == 1)
      }
      if bar == 3 {
        for (index, sixteenth) in [13, 14, 15].enumerated() {
          snare(
            &sound, at: time(bar: bar, sixteenth: sixteenth), gain: 0.2 + 0.12 * Double(index))
        }
      }
    }
    kick(&sound, at: 4 * bar, gain: 1)
    hat(&sound, at: 4 * bar, gain: 0.3, open: true)
    sound.addRoom(gain: 0.03)
    sound.finish(peak: 0.45, fade: 0.5)
    return sound
  }

  private static func kick(_ sound: inout DemoSound, at start: Double, gain: Double) {
    sound.add(at: start, seconds: 0.4, gain: gain) { time in
      // A sine that falls from 150 Hz to 48 Hz: its phase is the integral of that.
      let phase = 48 * time + (150 - 48) * 0.035 * (1 - exp(-time / 0.035))
      return sin(2 * .pi * phase) * exp(-time / 0.12) * min(1, time / 0.001)
    }
  }

  private static func snare(_ sound: inout DemoSound, at start: Double, gain: Double) {
    var noise = DemoNoise(seed: 7)
    var last = 0.0
    sound.add(at: start, seconds: 0.25, gain: gain, pan: 0.08) { time in
      let new = noise.next()
      defer { last = new }
      let rattle = (new - 0.6 * last) * exp(-time / 0.055)
      let skin = sin(2 * .pi * 185 * time) * exp(-time / 0.07)
      return (0.5 * rattle + 0.6 * skin) * min(1, time / 0.0005)
    }
  }

  private static func hat(_ sound: inout DemoSound, at start: Double, gain: Double, open: Bool) {
    var noise = DemoNoise(seed: 3)
    var (last, beforeLast) = (0.0, 0.0)
    let decay = open ? 0.12 : 0.022
    sound.add(at: start, seconds: 8 * decay, gain: gain, pan: -0.3) { time in
      let new = noise.next()
      defer { (last, beforeLast) = (new, last) }
      return (new - 2 * last + beforeLast) * 0.35 * exp(-time / decay)
    }
  }

  // MARK: Bass

  static func bass(rate: Double) -> DemoSound {
    var sound = DemoSound(seconds: seconds, rate: rate)
    // MIDI notes: A, F, C, G.
    for (bar, root) in [33, 29, 36, 31].enumerated() {
      for (sixteenth, length, interval, gain) in [
        (0, 3.0, 0, 1.0), (3, 1.5, 0, 0.6), (7, 2.0, 7, 0.8), (10, 2.5, 0, 0.95),
        (13, 1.0, 12, 0.6),
        (14, 1.5, 10, 0.7),
      ] {
        pluck(
          &sound, at: time(bar: bar, sixteenth: sixteenth), note: root + interval,
          seconds: length * beat / 4, gain: gain)
      }
    }
    pluck(&sound, at: 4 * bar, note: 33, seconds: 1.9, gain: 1)
    sound.finish(peak: 0.2, fade: 0.3)
    return sound
  }

  private static func pluck(
    _ sound: inout DemoSound, at start: Double, note: Int, seconds: Double, gain: Double
  ) {
    let pitch = demoFrequency(note)
    sound.add(at: start, seconds: seconds + 0.05, gain: gain) { time in
      let envelope =
        min(1, time / 0.004) * (0.35 + 0.65 * exp(-time / 0.25))
        * (time < seconds ? 1 : max(0, 1 - (time - seconds) / 0.05))
      var sum = 0.0
      // Harmonics that fade the sooner, the higher they are: a string under a finger.
      for harmonic in 1...8 {
        let number = Double(harmonic)
        sum +=
          sin(2 * .pi * pitch * number * time) / number * exp(-time * (number - 1) * 3.5)
          * (harmonic % 2 == 0 ? 0.7 : 1)
      }
      return tanh(1.2 * sum) * envelope
    }
  }

  // MARK: Chords

  static func chords(rate: Double) -> DemoSound {
    var sound = DemoSound(seconds: seconds, rate: rate)
    // Am9, Fmaj9, Cmaj9, G6: the voices move as little as they can.
    let harmonies = [
      [57, 60, 64, 67, 71], [53, 57, 60, 64, 67], [55, 59, 60, 64, 74], [55, 59, 62, 64, 71],
    ]
    for (bar, notes) in harmonies.enumerated() {
      for (sixteenth, length, gain) in [(0, 6.0, 1.0), (7, 2.0, 0.55), (11, 4.5, 0.75)] {
        strum(
          &sound, at: time(bar: bar, sixteenth: sixteenth), notes: notes,
          seconds: length * beat / 4, gain: gain)
      }
      // A few notes of a tune above.
      for (index, sixteenth) in [6, 10, 13].enumerated() where bar % 2 == 1 {
        strum(
          &sound, at: time(bar: bar, sixteenth: sixteenth), notes: [[76, 79, 83][index]],
          seconds: 0.4, gain: 0.5)
      }
    }
    strum(&sound, at: 4 * bar, notes: [57, 60, 64, 67, 71, 76], seconds: 1.9, gain: 1)
    sound.addRoom(gain: 0.06)
    sound.finish(peak: 0.34, fade: 0.4)
    return sound
  }

  private static func strum(
    _ sound: inout DemoSound, at start: Double, notes: [Int], seconds: Double, gain: Double
  ) {
    for (index, note) in notes.enumerated() {
      let pitch = demoFrequency(note)
      let pan = notes.count == 1 ? 0.25 : 0.5 * (2 * Double(index) / Double(notes.count - 1) - 1)
      // Six milliseconds from one finger to the next.
      sound.add(
        at: start + 0.006 * Double(index), seconds: seconds + 0.15, gain: gain * 0.2, pan: pan
      ) { time in
        let envelope =
          min(1, time / 0.003) * exp(-time / 1.1)
          * (time < seconds ? 1 : max(0, 1 - (time - seconds) / 0.15))
        // An electric piano: a sine that bends another's phase, and the tine's short ring.
        let bend = 1.4 * exp(-time / 0.35) * sin(2 * .pi * pitch * time)
        let tine = 0.12 * exp(-time / 0.06) * sin(2 * .pi * pitch * 14 * time)
        let tremolo = 1 + 0.08 * sin(2 * .pi * 5.2 * (start + time))
        return (sin(2 * .pi * pitch * time + bend) + tine) * envelope * tremolo
      }
    }
  }
}
