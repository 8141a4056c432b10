/// The regions of a file.
package struct MediaRegions: Hashable, Sendable {
  /// SMPTE time type of the markers; 0 if they have no SMPTE times.
  package var timeType: UInt32
  package var regions: [MediaRegion]
  package init(timeType: UInt32 = 0, regions: [MediaRegion]) {
    self.timeType = timeType
    self.regions = regions
  }
}
