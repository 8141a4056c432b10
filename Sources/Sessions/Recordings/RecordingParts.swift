import Codecs
package import Files
import Glibc
import RealTime
import Synchronization
import System
import Timeline

/// The files of a recording, one after another. A file is created with its first frame.
///
/// No frame is lost between two files. Each is complete before the next one is created. Any thread may
/// read the properties; one thread at a time may call the rest, which blocks.
package final class RecordingParts: RecordingOutput {
  package struct Options: Sendable {
    package var names: RecordingNames
    package var split: RecordingSplit?
    /// True to replace existing files.
    package var isReplacing: Bool
    /// The program that records, for broadcast metadata.
    package var program: String
    /// Takes messages for people.
    package var onMessage: @Sendable (String) -> Void
    /// Called with the path of each file that has been created.
    package var onOpen: @Sendable (String) -> Void
    /// Called for each file that is complete before the end of the recording.
    package var onPart: @Sendable (Part) -> Void

    package init(
      _ names: RecordingNames, split: RecordingSplit? = nil, isReplacing: Bool, program: String,
      onMessage: @escaping @Sendable (String) -> Void = { _ in },
      onOpen: @escaping @Sendable (String) -> Void = { _ in },
      onPart: @escaping @Sendable (Part) -> Void = { _ in }
    ) {
      self.names = names
      self.split = split
      self.isReplacing = isReplacing
      self.program = program
      self.onMessage = onMessage
      self.onOpen = onOpen
      self.onPart = onPart
    }
  }

  /// A complete file of the recording.
  package struct Part: Equatable, Sendable {
    package let path: String
    /// Frames in the file, and of the recording before it.
    package let frames: Int64
    package let firstFrame: Int64
    package let bytes: Int64

    package init(path: String, frames: Int64, firstFrame: Int64, bytes: Int64) {
      self.path = path
      self.frames = frames
      self.firstFrame = firstFrame
      self.bytes = bytes
    }
  }

  private struct State {
    /// The path of the first file, reserved before the first frame.
    var claimed: ClaimedPath?
    var plan: SoundWriter.Plan?
    var current: RecordingFile?
    /// Number of the current file or of the next one, and the first frame of the current one.
    var number = 1
    var partStart: Int64 = 0
    /// Frames of the recording so far.
    var frames: Int64 = 0
    /// Frames that the current file may still take; nil for no limit, or one that depends on packets.
    var room: Int64?
    /// Frames of the recording at which markers are that no file has yet, and their numbers.
    var markers: [(frame: Int64, number: Int)] = []
    var marked = 0
    /// Frames from midnight to the first frame of the recording, or to the frame that would be the first if the present
    /// take had no others before.
    var reference: Int64 = 0
    /// True if the next file begins a take.
    var isTakeStart = true
    /// True if the present file is to end soon.
    var endsPart = false
    var completed = 0
  }

  private let options: Options
  private let makePlan: @Sendable (_ path: String) throws(SoundFileError) -> SoundWriter.Plan
  private let state: Mutex<State>
  /// Container, format and encoder settings of the files.
  package let plan: SoundWriter.Plan

  /// Checks that files can be written, and reserves the first one if its name is known.
  ///
  /// - Parameter claim: Result of `claim`.
  /// - Parameter makePlan: Creates the plan of a file.
  package init(
    _ options: Options, _ claim: Claim,
    makePlan: @escaping @Sendable (_ path: String) throws(SoundFileError) -> SoundWriter.Plan
  ) throws(SoundFileError) {
    self.options = options
    self.makePlan = makePlan
    plan = try makePlan(options.names.template)
    state = Mutex(State(claimed: claim.path, plan: plan, number: claim.number))
  }

  /// The reserved path of the first file.
  package struct Claim: Sendable {
    /// Nil if the name contains the time of the first frame.
    fileprivate let path: ClaimedPath?
    fileprivate let number: Int

    /// Checks that a file can be written, and reserves its path if it is known. Blocks.
    package init(_ names: RecordingNames, isSplit: Bool, isReplacing: Bool)
      throws(SoundFileError)
    {
      let now = LocalTime(atHostTime: HostTime.now)
      let numbersTakes = names.hasNumber && !isSplit
      var number = numbersTakes ? names.nextNumber(at: now) : 1
      var path: ClaimedPath?
      while path == nil {
        do throws(SoundFileError) {
          path = try ClaimedPath(names.path(number: number, at: now), isReplacing: isReplacing)
        } catch {
          guard error.kind == .exists else { throw error }
          // The name will be another one, or another recorder has just taken this number.
          if names.hasTime { break }
          guard numbersTakes else { throw error }
          number += 1
        }
      }
      self.number = number
      self.path = names.hasTime ? nil : path
    }

    /// Takes a pipe, which gets a recording in one file.
    package init(_ pipe: PipeOutput) {
      number = 1
      path = ClaimedPath(pipe)
    }

    /// The file's path; nil if it is not known yet.
    package var name: String? { path?.path }
  }

  // MARK: Any thread

  /// The current file's store; nil before its first frame, and for a pipe.
  package var store: FileStore? { state.withLock { $0.current?.store } }
  /// Bytes of the current file.
  package var byteCount: Int64 {
    get throws(SoundFileError) { try state.withLock { $0.current }?.byteCount ?? 0 }
  }
  /// The current file's writer; nil before its first frame. One thread at a time may use it.
  package var writer: SoundWriter? { state.withLock { $0.current?.writer } }
  /// The path of the current file, or the template before the first frame.
  package var path: String {
    state.withLock { $0.current?.output.path ?? $0.claimed?.path } ?? options.names.template
  }
  /// True if an old file is replaced by the first frame.
  package var holdsOldFile: Bool { state.withLock { $0.claimed?.holdsOldFile } ?? false }
  /// Frames of the recording in all files.
  package var frames: Int64 { state.withLock { $0.frames } }
  /// Files that are complete, without the current one.
  package var completedParts: Int { state.withLock { $0.completed } }
  /// The frame of the recording with which the current file begins.
  package var partStart: Int64 { state.withLock { $0.partStart } }

  /// Sets a marker at a frame of the recording, in the file that has this frame.
  ///
  /// - Returns: The marker's number.
  package func addMarker(at frame: Int64) -> Int {
    state.withLock { state in
      state.marked += 1
      state.markers.append((frame, state.marked))
      return state.marked
    }
  }

  package func split() -> Bool {
    state.withLock { state in
      guard state.current?.store != nil else { return false }
      state.endsPart = true
      return true
    }
  }

  // MARK: Writing

  package func append(_ bytes: UnsafeRawBufferPointer, at hostTime: UInt64)
    throws(SoundFileError)
  {
    let frameBytes = plan.input.bytesPerFrame
    try forEachPiece(of: Int64(bytes.count / frameBytes), at: hostTime) {
      (writer, offset, count) throws(SoundFileError) in
      let start = Int(offset) * frameBytes
      try unsafe writer.write(
        UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(count) * frameBytes]))
    }
  }

  package func appendSilence(frames: Int64, at hostTime: UInt64) throws(SoundFileError) {
    try forEachPiece(of: frames, at: hostTime) { (writer, _, count) throws(SoundFileError) in
      try writer.writeSilence(frames: count)
    }
  }

  package func checkpoint() throws(SoundFileError) {
    try state.withLock { $0.current }?.checkpoint()
  }

  /// Writes frames in pieces that each go to one file.
  private func forEachPiece(
    of frames: Int64, at hostTime: UInt64,
    _ write: (SoundWriter, _ offset: Int64, _ count: Int64) throws(SoundFileError) -> Void
  ) throws(SoundFileError) {
    let rate = plan.input.sampleRate
    var done: Int64 = 0
    while done < frames {
      let time = hostTime + UInt64(held: (Double(done) / rate * 1e9).rounded())
      let (file, room) = try current(at: time)
      let writer = try file.beginning()
      let count = min(frames - done, room)
      try write(writer, done, count)
      done += count
      state.withLock { state in
        state.frames += count
        state.room = state.room.map { $0 - count }
      }
      if try isFull(file) { try endPart() }
    }
  }

  /// Returns the current file, which it creates if there is none, and the frames to write to it at most
  /// before `isFull` is asked.
  private func current(at hostTime: UInt64) throws(SoundFileError) -> (RecordingFile, Int64) {
    if let (file, room) = state.withLock({ state in state.current.map { ($0, state.room) } }) {
      return (file, piece(room))
    }
    let time = LocalTime(atHostTime: hostTime)
    let (claimed, plan) = state.withLock { state in
      defer {
        state.claimed = nil
        state.plan = nil
      }
      return (state.claimed, state.plan)
    }
    var output = claimed
    if output == nil { output = try claimNext(at: time) }
    guard let output else { throw SoundFileError(.vanished, path: path) }
    let file: RecordingFile
    if let plan {
      file = RecordingFile(output, plan)
    } else {
      file = RecordingFile(output, try makePlan(output.path))
    }
    let writer = try file.beginning()
    let before = state.withLock { state in
      state.current = file
      state.partStart = state.frames
      if state.isTakeStart {
        state.reference =
          time.framesSinceMidnight(at: self.plan.input.sampleRate) - state.frames
        state.isTakeStart = false
      }
      return state.reference + state.frames
    }
    try describe(writer.file, at: time, reference: before)
    if file.store != nil { options.onOpen(output.path) }
    let room = try room(writer)
    state.withLock { $0.room = room }
    return (file, piece(room))
  }

  /// Packets are written in pieces, between which the size of the file is looked at.
  private func piece(_ room: Int64?) -> Int64 {
    if let room { return room }
    return options.split == nil ? .max : max(1, Int64(plan.input.sampleRate / 8))
  }

  /// Reserves the path of the next file. A name that exists already gets another number.
  private func claimNext(at time: LocalTime) throws(SoundFileError) -> ClaimedPath {
    let names = options.names
    if names.hasNumber, options.split == nil {
      let number = names.nextNumber(at: time)
      state.withLock { $0.number = number }
    }
    let completed = state.withLock { $0.completed }
    // A name without a number may be that of a file before.
    let isReplacing = options.isReplacing && (names.hasNumber || completed == 0)
    var tries = names.hasNumber || names.hasTime ? 1 : 1 + completed
    while true {
      let wanted = names.path(number: state.withLock { $0.number }, at: time)
      let path = tries == 1 || names.hasNumber ? wanted : Self.numbered(wanted, tries)
      do throws(SoundFileError) {
        return try ClaimedPath(path, isReplacing: isReplacing)
      } catch {
        guard error.kind == .exists, tries < 100_000 else { throw error }
        options.onMessage("\(path): there is a file of that name already: it stays as it is")
        tries += 1
        if names.hasNumber { state.withLock { $0.number += 1 } }
      }
    }
  }

  /// Returns a path with a number before its extension.
  private static func numbered(_ path: String, _ number: Int) -> String {
    "\(path.pathStem)-\(number)\(path.pathExtension)"
  }

  /// Writes broadcast metadata, where the file has them.
  private func describe(_ file: any MediaFile, at time: LocalTime, reference: Int64)
    throws(SoundFileError)
  {
    guard case .pcm(let format) = file.format, let chunks = file.chunked, chunks.takesBroadcastInfo
    else { return }
    var info = BroadcastInfo()
    info.originator = options.program
    info.date = time.formatted("%Y-%m-%d")
    info.time = time.formatted("%H:%M:%S")
    info.timeReference = UInt64(reference)
    info.addCoding(as: format, by: options.program)
    try chunks.setBroadcastInfo(info)
  }

  /// Returns the frames that a file may take; nil for no limit, or one that depends on the packets.
  private func room(_ writer: SoundWriter) throws(SoundFileError) -> Int64? {
    switch options.split {
    case nil: return nil
    case .frames(let frames)?: return frames
    case .bytes(let bytes)?:
      guard case .pcm(let format) = writer.file.format else { return nil }
      // The header tells where the sound begins.
      try writer.file.checkpoint()
      let header = try writer.file.dataOffset
      // A byte may follow that makes the size even.
      return max(1, (bytes - header - 1) / Int64(format.bytesPerFrame))
    }
  }

  private func isFull(_ file: RecordingFile) throws(SoundFileError) -> Bool {
    let (room, endsPart) = state.withLock { ($0.room, $0.endsPart) }
    if endsPart { return true }
    if let room { return room == 0 }
    // Only the size of packets leaves the room open.
    guard case .bytes(let bytes)? = options.split, let store = file.store else { return false }
    return try store.byteCount() >= bytes
  }

  package func endTake() throws(SoundFileError) {
    try endPart()
    state.withLock { $0.isTakeStart = true }
  }

  /// Completes the current file, because the next one begins.
  private func endPart() throws(SoundFileError) {
    guard let store, let writer else { return }
    try complete(upTo: frames)
    let bytes = try store.byteCount()
    let part = state.withLock { state in
      defer {
        state.current = nil
        state.endsPart = false
        state.number += 1
        state.completed += 1
      }
      return Part(
        path: store.name, frames: writer.frames, firstFrame: state.partStart, bytes: bytes)
    }
    options.onPart(part)
  }

  /// Completes and closes the current file, at the end of the recording. A path that is reserved for no frames is free
  /// again.
  package func finish() throws(SoundFileError) {
    state.withLock { $0.claimed = nil }
    try complete(upTo: .max)
  }

  /// Writes the markers of the current file, and completes and closes it.
  ///
  /// - Parameter end: The frame of the recording that follows the file.
  private func complete(upTo end: Int64) throws(SoundFileError) {
    guard let writer else { return }
    var failure: SoundFileError?
    do throws(SoundFileError) {
      try writeMarkers(to: writer.file, upTo: end)
    } catch {
      failure = error
    }
    try writer.close()
    try state.withLock { $0.current }?.output.finish()
    if let failure { throw failure }
  }

  private func writeMarkers(to file: any MediaFile, upTo end: Int64) throws(SoundFileError) {
    let (markers, start) = state.withLock { state in
      let markers = state.markers.filter { $0.frame < end }
      state.markers.removeAll { $0.frame < end }
      return (markers, state.partStart)
    }
    if markers.isEmpty { return }
    guard !file.store.isStream, let chunks = file.chunked, var list = try chunks.markers() else {
      options.onMessage("\(file.path): this kind of file has no markers: they are lost")
      return
    }
    list.markers = markers.map { frame, number in
      MediaMarker(position: Double(max(0, frame - start)), name: "\(number)", id: Int32(number))
    }
    try chunks.setMarkers(list)
  }
}
