package import CAudioToolbox
package import Music

/// Runs the body of a C function with a sequence.
func withSequence(
  _ reference: MusicSequence?, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (SequenceHandle) throws(MusicFailure) -> Void
) -> OSStatus {
  answer(function) { () throws(MusicFailure) in
    let handle = try unsafe SequenceHandle.find(reference)
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try body(handle)
  }
}

/// Runs the body of a C function with a track.
func withTrack(
  _ reference: MusicTrack?, _ function: String, needs pointers: UnsafeRawPointer?...,
  body: (TrackHandle) throws(MusicFailure) -> Void
) -> OSStatus {
  answer(function) { () throws(MusicFailure) in
    let handle = try unsafe TrackHandle.find(reference)
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try body(handle)
  }
}

/// Returns the sequence of a number; nil if there is none.
package func eventSequence(_ reference: MusicSequence?) -> EventSequence? {
  SequenceHandle.all.object(UInt(bitPattern: reference))?.sequence
}

/// Returns the number of a sequence that `eventSequence` has returned, or of one of the library, which gets one.
package func reference(of sequence: EventSequence) -> MusicSequence? {
  let known = SequenceHandle.all.entries.first { $0.object.sequence === sequence }?.handle
  let handle = known ?? SequenceHandle.all.add { SequenceHandle(sequence, $0) }
  return unsafe MusicSequence(bitPattern: handle)
}

/// Lets the C functions know a sequence of the library no more.
package func forgetReference(of sequence: EventSequence) {
  for entry in SequenceHandle.all.entries where entry.object.sequence === sequence {
    SequenceHandle.all.remove(entry.handle)?.dispose()
  }
}
