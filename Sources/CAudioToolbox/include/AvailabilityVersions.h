// The numbers of system versions.
#ifndef __AVAILABILITY_VERSIONS__
#define __AVAILABILITY_VERSIONS__

#define __MAC_10_0   1000
#define __MAC_10_1   1010
#define __MAC_10_2   1020
#define __MAC_10_3   1030
#define __MAC_10_4   1040
#define __MAC_10_5   1050
#define __MAC_10_6   1060
#define __MAC_10_7   1070
#define __MAC_10_8   1080
#define __MAC_10_9   1090
#define __MAC_10_10  101000
#define __MAC_10_11  101100
#define __MAC_10_12  101200
#define __MAC_10_13  101300
#define __MAC_10_14  101400
#define __MAC_10_15  101500
#define __MAC_10_16  101600
#define __MAC_11_0   110000
#define __MAC_12_0   120000
#define __MAC_13_0   130000
#define __MAC_14_0   140000
#define __MAC_15_0   150000
#define __MAC_NA     9999
#define __IPHONE_2_0 20000
#define __IPHONE_3_0 30000
#define __IPHONE_4_0 40000
#define __IPHONE_5_0 50000
#define __IPHONE_6_0 60000
#define __IPHONE_7_0 70000
#define __IPHONE_8_0 80000
#define __IPHONE_NA  9999

#endif
