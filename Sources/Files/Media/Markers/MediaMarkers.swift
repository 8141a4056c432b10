/// The markers of a file.
package struct MediaMarkers: Hashable, Sendable {
  /// SMPTE time type of the markers; 0 if they have no SMPTE times.
  package var timeType: UInt32
  package var markers: [MediaMarker]
  package init(timeType: UInt32 = 0, markers: [MediaMarker]) {
    self.timeType = timeType
    self.markers = markers
  }
}
