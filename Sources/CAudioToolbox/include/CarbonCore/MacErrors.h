// Classic result codes, as far as programs for sound compare with them. AudioFile.h and the other
// headers say which codes this library returns.
#ifndef CUEJACK_MACERRORS_H
#define CUEJACK_MACERRORS_H

#include "../CuejackBase.h"

CUE_HEADER_BEGIN

CF_ENUM(OSStatus) {
  // General.
  paramErr = -50,
  unimpErr = -4,
  userCanceledErr = -128,
  coreFoundationUnknownErr = -4960,

  // Memory.
  memFullErr = -108,
  nilHandleErr = -109,
  memWZErr = -111,
  memPurErr = -112,
  memBCErr = -115,
  memLockedErr = -117,

  // Files.
  dirFulErr = -33,
  dskFulErr = -34,
  nsvErr = -35,
  ioErr = -36,
  bdNamErr = -37,
  fnOpnErr = -38,
  eofErr = -39,
  posErr = -40,
  mFulErr = -41,
  tmfoErr = -42,
  fnfErr = -43,
  wPrErr = -44,
  fLckdErr = -45,
  vLckdErr = -46,
  fBsyErr = -47,
  dupFNErr = -48,
  opWrErr = -49,
  rfNumErr = -51,
  gfpErr = -52,
  volOffLinErr = -53,
  permErr = -54,
  volOnLinErr = -55,
  nsDrvErr = -56,
  noMacDskErr = -57,
  extFSErr = -58,
  fsRnErr = -59,
  badMDBErr = -60,
  wrPermErr = -61,
  dirNFErr = -120,
  tmwdoErr = -121,
  badMovErr = -122,
  wrgVolTypErr = -123,
  volGoneErr = -124,
  notAFileErr = -1302,
  errFSNoMoreItems = -1417,
  errFSBadFSRef = -1401,
  errFSRefsDifferent = -1420,
  resNotFound = -192,
  resFNotFound = -193,

  // Sound.
  noHardwareErr = -200,
  notEnoughHardwareErr = -201,
  queueFull = -203,
  resProblem = -204,
  badChannel = -205,
  badFormat = -206,
  notEnoughBufferSpace = -207,
  badFileFormat = -208,
  channelBusy = -209,
  buffersTooSmall = -210,
  siInvalidCompression = -223,

  // Components and processes.
  procNotFound = -600,
  invalidComponentID = -3000,
  validInstancesExist = -3001,
  componentNotCaptured = -3002,
  componentDontRegister = -3003,
  badComponentInstance = (OSStatus)0x80008001,
  badComponentSelector = (OSStatus)0x80008002
};

CUE_HEADER_END

#endif
