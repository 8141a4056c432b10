public import CAudioToolbox
import Files

/// Returns the file as a file with chunks. Throws if its format has none.
private func chunked(_ handle: AudioFileID) throws(AudioFileFailure) -> any ChunkedFile {
  let media = try unsafe OpenFile.find(handle).media
  guard let file = media.chunked else {
    throw .file(
      SoundFileError(
        .notSupported("\(media.container) files of this format have no chunks"), path: media.path))
  }
  return file
}

private func noChunk(_ id: UInt32, _ index: UInt32) -> AudioFileFailure {
  .noChunk("there is no chunk '\(fourCharacters(id))' number \(index)")
}

/// See AudioFileCountUserData in AudioFile.h.
@c @implementation
public func AudioFileCountUserData(
  _ inAudioFile: AudioFileID, _ inUserDataID: UInt32,
  _ outNumberItems: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe answer("AudioFileCountUserData", needs: outNumberItems) { () throws(AudioFileFailure) in
    unsafe outNumberItems.pointee = 0
    let count = try unsafe chunked(inAudioFile).chunkSizes(ChunkID(inUserDataID)).count
    unsafe outNumberItems.pointee = UInt32(count)
  }
}

/// See AudioFileGetUserDataSize in AudioFile.h.
@c @implementation
public func AudioFileGetUserDataSize(
  _ inAudioFile: AudioFileID, _ inUserDataID: UInt32, _ inIndex: UInt32,
  _ outUserDataSize: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe answer("AudioFileGetUserDataSize", needs: outUserDataSize) {
    () throws(AudioFileFailure) in
    unsafe outUserDataSize.pointee = 0
    let sizes = try unsafe chunked(inAudioFile).chunkSizes(ChunkID(inUserDataID))
    guard inIndex < sizes.count else { throw noChunk(inUserDataID, inIndex) }
    unsafe outUserDataSize.pointee = UInt32(clamping: sizes[Int(inIndex)])
  }
}

/// See AudioFileGetUserData in AudioFile.h.
@c @implementation
public func AudioFileGetUserData(
  _ inAudioFile: AudioFileID, _ inUserDataID: UInt32, _ inIndex: UInt32,
  _ ioUserDataSize: UnsafeMutablePointer<UInt32>, _ outUserData: UnsafeMutableRawPointer
) -> OSStatus {
  unsafe answer("AudioFileGetUserData", needs: ioUserDataSize, outUserData) {
    () throws(AudioFileFailure) in
    let room = unsafe ioUserDataSize.pointee
    unsafe ioUserDataSize.pointee = 0
    let file = try unsafe chunked(inAudioFile)
    let bytes = try onFile(
      file.chunk(ChunkID(inUserDataID), index: Int(inIndex), most: Int64(room)))
    guard let bytes else { throw noChunk(inUserDataID, inIndex) }
    unsafe outUserData.copyMemory(from: bytes, byteCount: bytes.count)
    unsafe ioUserDataSize.pointee = UInt32(bytes.count)
  }
}

/// See AudioFileSetUserData in AudioFile.h.
@c @implementation
public func AudioFileSetUserData(
  _ inAudioFile: AudioFileID, _ inUserDataID: UInt32, _ inIndex: UInt32,
  _ inUserDataSize: UInt32, _ inUserData: UnsafeRawPointer
) -> OSStatus {
  answer("AudioFileSetUserData") { () throws(AudioFileFailure) in
    let file = try unsafe chunked(inAudioFile)
    guard let bytes = unsafe copyBytes(at: inUserData, count: inUserDataSize) else {
      throw .badArgument("the data is NULL")
    }
    guard inIndex <= file.chunkSizes(ChunkID(inUserDataID)).count else {
      throw noChunk(inUserDataID, inIndex)
    }
    try onFile(file.setChunk(ChunkID(inUserDataID), index: Int(inIndex), bytes))
  }
}

/// See AudioFileRemoveUserData in AudioFile.h.
@c @implementation
public func AudioFileRemoveUserData(
  _ inAudioFile: AudioFileID, _ inUserDataID: UInt32, _ inIndex: UInt32
) -> OSStatus {
  answer("AudioFileRemoveUserData") { () throws(AudioFileFailure) in
    let file = try unsafe chunked(inAudioFile)
    let isThere = try onFile(file.removeChunk(ChunkID(inUserDataID), index: Int(inIndex)))
    guard isThere else { throw noChunk(inUserDataID, inIndex) }
  }
}
