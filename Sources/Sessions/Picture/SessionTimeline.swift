package import Pictures

/// The tracks of a session over time, with their waveforms.
package struct SessionTimeline: Sendable {
  /// A stretch of a file on the timeline. Times are in seconds.
  package struct Clip: Sendable, Equatable {
    package let file: String
    /// Start and length on the timeline.
    package let start, length: Double
    /// The part of the file that plays.
    package let from, to: Double
    /// Whether the clip repeats an earlier one.
    package let isRepeated: Bool
    fileprivate let peaks: [ClosedRange<Float>]
    fileprivate let fileSeconds: Double
  }
  /// A track on the timeline. Durations are in seconds.
  package struct Lane: Sendable {
    package let name: String
    package fileprivate(set) var clips: [Clip]
    package let fadeIn, fadeOut: Double
    package let isSilent: Bool
    /// Files that could not be read.
    package let missing: [String]
  }
  package private(set) var lanes: [Lane] = []
  /// Length of the timeline.
  package private(set) var seconds = 0.0
  private let secondsPerBar: Double

  /// The most clips of a lane that are drawn: a short loop on a long timeline has many.
  private static let mostClips = 500

  /// Lays the session out.
  ///
  /// - Parameter sampleRate: Frames per second for starts that are given in frames, unless the
  ///   session has a rate.
  package init(
    _ document: SessionDocument, waveforms: some SessionWaveforms, sampleRate: Double = 48000
  ) {
    let rate = document.sampleRate ?? sampleRate
    secondsPerBar = 60 / document.transport.bpm * document.transport.beatsPerBar
    var loops: [Int] = []
    for track in document.tracks {
      let start = track.start.seconds(sampleRate: rate, tempo: document.transport)
      var clips: [Clip] = []
      var missing: [String] = []
      // Positions in the files, one after another.
      var offset = 0.0
      let end = track.trimEnd ?? .infinity
      for file in track.files {
        guard let wave = waveforms.waveform(of: file), wave.seconds > 0, wave.seconds.isFinite
        else {
          missing.append(file)
          continue
        }
        let from = max(0, track.trimStart - offset)
        let to = min(wave.seconds, end - offset)
        if from < to {
          let played = clips.reduce(0) { $0 + $1.length }
          clips.append(
            Clip(
              file: file, start: start + played, length: (to - from) / track.rate, from: from,
              to: to, isRepeated: false, peaks: wave.peaks, fileSeconds: wave.seconds))
        }
        offset += wave.seconds
      }
      if track.loop, !clips.isEmpty { loops.append(lanes.count) }
      lanes.append(
        Lane(
          name: track.name, clips: clips, fadeIn: track.fadeIn, fadeOut: track.fadeOut,
          isSilent: document.isSilent(track), missing: missing))
      if let last = clips.last { seconds = max(seconds, last.start + last.length) }
    }
    for lane in loops { `repeat`(lane) }
  }

  /// Repeats the clips of a lane up to the end of the timeline.
  private mutating func `repeat`(_ lane: Int) {
    let once = lanes[lane].clips
    let length = once.reduce(0) { $0 + $1.length }
    var round = 1.0
    while let first = once.first, lanes[lane].clips.count < Self.mostClips {
      if first.start + round * length >= seconds - 1e-9 { break }
      for clip in once {
        let start = clip.start + round * length
        let rest = min(clip.length, seconds - start)
        if rest <= 0 { break }
        lanes[lane].clips.append(
          Clip(
            file: clip.file, start: start, length: rest, from: clip.from,
            to: clip.from + (clip.to - clip.from) * rest / clip.length, isRepeated: true,
            peaks: clip.peaks, fileSeconds: clip.fileSeconds))
      }
      round += 1
    }
  }

  // MARK: Drawing

  /// The lanes below each other, with a scale in seconds and bars.
  package var picture: Picture {
    let (left, laneWidth, laneHeight, top, margin) = (170.0, 1000.0, 56.0, 34.0, 24.0)
    var picture = Picture(
      width: left + laneWidth + margin,
      height: top + Double(lanes.count) * (laneHeight + 8) + margin)
    let length = seconds > 0 ? seconds : 1
    func x(_ time: Double) -> Double { left + time / length * laneWidth }
    let bottom = picture.height - margin
    drawScale(&picture, x: x, length: length, top: top, bottom: bottom)
    for (index, lane) in lanes.enumerated() {
      let y = top + Double(index) * (laneHeight + 8)
      picture.text(lane.name, margin, y + 24, size: 13, .ink, upTo: left - margin - 10)
      let note =
        lane.missing.isEmpty
        ? lane.isSilent ? "silent" : "" : "cannot read \(lane.missing.joined(separator: ", "))"
      picture.text(note, margin, y + 40, size: 10.5, .faint, upTo: left - margin - 10)
      for clip in lane.clips { draw(clip, lane, &picture, x: x, y, laneHeight) }
      drawFades(lane, &picture, x: x, y, laneHeight)
    }
    return picture
  }

  private func drawScale(
    _ picture: inout Picture, x: (Double) -> Double, length: Double, top: Double, bottom: Double
  ) {
    picture.secondScale(x: x, length: length, top: top, bottom: bottom)
    guard secondsPerBar > 0, length / secondsPerBar <= 200 else { return }
    for bar in 0...Int(length / secondsPerBar) {
      let position = x(Double(bar) * secondsPerBar)
      picture.marks.append(
        .line(
          [PicturePoint(position, bottom), PicturePoint(position, bottom + 6)], .faint, width: 1))
      if length / secondsPerBar <= 50 || bar % 8 == 0 {
        picture.text("\(bar + 1)", position + 3, bottom + 14, size: 10, .faint)
      }
    }
  }

  private func draw(
    _ clip: Clip, _ lane: Lane, _ picture: inout Picture, x: (Double) -> Double, _ y: Double,
    _ height: Double
  ) {
    let (left, right) = (x(clip.start), x(clip.start + clip.length))
    let isPale = clip.isRepeated || lane.isSilent
    picture.rectangle(
      left, y, max(1, right - left), height, fill: PictureColor(isPale ? 0xF3F7FB : 0xE3EEF9),
      border: PictureColor(isPale ? 0xC9D6E2 : 0x8FB0D0))
    if clip.peaks.isEmpty { return }
    let columns = max(1, min(2000, Int(right - left)))
    func index(_ column: Int) -> Int {
      let time = clip.from + (clip.to - clip.from) * Double(column) / Double(columns)
      return max(
        0, min(clip.peaks.count - 1, Int(time / clip.fileSeconds * Double(clip.peaks.count))))
    }
    picture.waveform(
      from: left, to: right, middle: y + height / 2, reach: height / 2 - 3, columns: columns,
      fill: PictureColor(isPale ? 0xB4C8DB : 0x3F78B0)
    ) { column in
      let part = clip.peaks[index(column)...max(index(column), index(column + 1) - 1)]
      // A peak is never empty, so that the least is not above the greatest.
      return part.dropFirst().reduce(part[part.startIndex]) {
        min($0.lowerBound, $1.lowerBound)...max($0.upperBound, $1.upperBound)
      }
    }
  }

  private func drawFades(
    _ lane: Lane, _ picture: inout Picture, x: (Double) -> Double, _ y: Double, _ height: Double
  ) {
    let own = lane.clips.filter { !$0.isRepeated }
    guard let first = own.first, let last = own.last else { return }
    let end = last.start + last.length
    let color = PictureColor(0xC05621)
    if lane.fadeIn > 0 {
      picture.marks.append(
        .line(
          [
            PicturePoint(x(first.start), y + height),
            PicturePoint(x(min(end, first.start + lane.fadeIn)), y),
          ], color, width: 1.5))
    }
    if lane.fadeOut > 0 {
      picture.marks.append(
        .line(
          [
            PicturePoint(x(max(first.start, end - lane.fadeOut)), y),
            PicturePoint(x(end), y + height),
          ], color, width: 1.5))
    }
  }
}
