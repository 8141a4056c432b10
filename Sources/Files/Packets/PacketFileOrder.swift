/// The order of a file's packets and its other chunks and tables.
enum PacketFileOrder {
  /// Returns true if nothing follows the packets that a reader needs before them, or that would
  /// prevent appending. Blocks.
  static func isOptimized(
    _ store: any ByteStore, _ container: Container
  ) throws(SoundFileError) -> Bool {
    if container.isMPEG4 { return try MPEG4Order(store).isOptimized }
    guard container.holdsPCM, case .head(let head) = try FileHead.find(in: store) else {
      return true
    }
    return head.after.isEmpty
  }

  /// Moves everything that follows the packets before them. If the process is killed, the file has
  /// either the old or the new order. Blocks.
  static func optimize(
    _ store: any ByteStore, _ container: Container
  ) throws(SoundFileError) {
    if container.isMPEG4 { return try MPEG4Order(store).optimize() }
    guard container.holdsPCM, case .head(let head) = try FileHead.find(in: store),
      let grammar = head.grammar, let dataBytes = head.dataBytes, !head.after.isEmpty
    else { return }
    let order = ChunkOrder(
      grammar: grammar, soundOffset: head.soundOffset,
      soundBytes: head.dataOffset - head.soundOffset + dataBytes, after: head.after)
    try store.replaceContents { new throws(SoundFileError) in
      let end = try order.write(store, to: new).end
      // The last chunk may have gained a padding byte.
      switch container {
      case .wave, .aiff, .aifc:
        try new.write(
          [UInt8](
            UInt32(clamping: end - 8), count: 4, bigEndian: grammar.isBigEndian), at: 4)
      default: break
      }
    }
  }
}
