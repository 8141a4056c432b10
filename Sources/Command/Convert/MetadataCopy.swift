import Codecs
import Files
import Logging
import RealTime
import System

/// The copy of a file's metadata to the file that `cuejack convert` makes of it, as far as the new file
/// can store it.
struct MetadataCopy {
  let old: any MediaFile
  let new: any MediaFile
  /// The part of the old file's frames that the new file has; nil for all.
  var part: Range<Int64>?
  /// Frames of the new file per frame of the old one.
  var ratio = 1.0
  /// False if the sound has another loudness.
  var keepsLoudness = true
  /// Names of what the new file has no place for.
  private var lost: [String] = []

  init(of old: any MediaFile, to new: any MediaFile) { (self.old, self.new) = (old, new) }

  /// True if the new file has all of the sound.
  private var isWhole: Bool {
    guard let part else { return true }
    return part.lowerBound == 0 && part.upperBound == (try? old.frameCount)
  }

  /// Copies the metadata. Without channel roles, which depend on the conversion. Blocks.
  mutating func run() throws(SoundFileError) {
    try copyTags()
    try copyChunks()
    guard !lost.isEmpty else { return }
    log.info("\(old.path): not kept in the new file: \(lost.joined(separator: ", "))")
  }

  private mutating func copyTags() throws(SoundFileError) {
    if let tags = try old.tags(), !tags.isEmpty {
      if try new.tags() != nil { try new.setTags(tags) }
      lost += tags.keys.sorted().filter {
        // Each writer names itself.
        $0 != "encoding application" && !new.keepsTag($0)
      }
      .map { "tag “\($0)”" }
    }
    lost += old.otherTags.keys.sorted().map { "tag “\($0)”" }
    // A picture is looked for only if somebody reads the answer.
    if log.logLevel <= .info, (try? old.artwork) != nil { lost.append("picture") }
  }

  private mutating func copyChunks() throws(SoundFileError) {
    guard let chunks = old.chunked else { return }
    if let new = new.chunked {
      lost += try new.copyChunks(of: chunks).map { "chunk '\($0)'" }
    } else {
      lost += chunks.otherChunks.map { "chunk '\($0)'" }
    }
    try copyMarkers(of: chunks)
    guard var info = try chunks.broadcastInfo() else { return }
    guard let format = new.pcm?.format, let target = new.chunked, target.takesBroadcastInfo else {
      return lost.append("chunk 'bext'")
    }
    let start = Double(part?.lowerBound ?? 0)
    // A damaged reference stays as it is.
    if let moved = UInt64(exactly: ((Double(info.timeReference) + start) * ratio).rounded()) {
      info.timeReference = moved
    }
    // Figures of all of the sound do not hold for a part of it, or for a mix of its channels.
    if !isWhole || !keepsLoudness || format.channels != old.format.channels { info.loudness = nil }
    info.addCoding(as: format, by: programName)
    try target.setBroadcastInfo(info)
  }

  /// Copies markers and regions. Between files of one family they are in the chunks already; only moved
  /// ones are set again.
  private mutating func copyMarkers(of chunks: any ChunkedFile) throws(SoundFileError) {
    if var list = try chunks.markers(), !list.markers.isEmpty {
      if let target = new.chunked, let there = try target.markers() {
        list.markers = list.markers.compactMap(moved)
        if list != there { try target.setMarkers(list) }
      } else {
        lost.append("markers")
      }
    }
    if var list = try chunks.regions(), !list.regions.isEmpty {
      if let target = new.chunked, let there = try target.regions() {
        for index in list.regions.indices {
          list.regions[index].markers = list.regions[index].markers.compactMap(moved)
        }
        list.regions.removeAll { $0.markers.isEmpty }
        if list != there { try target.setRegions(list) }
      } else {
        lost.append("regions")
      }
    }
  }

  /// Returns a marker at its place in the new file; nil if it is outside the part.
  private func moved(_ marker: MediaMarker) -> MediaMarker? {
    var marker = marker
    if let part {
      guard marker.position >= Double(part.lowerBound), marker.position <= Double(part.upperBound)
      else { return nil }
      marker.position -= Double(part.lowerBound)
    }
    marker.position *= ratio
    return marker
  }
}
