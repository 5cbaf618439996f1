/**
 * Preloaded into a server, this shifts its clock by a number of ms:
 *
 *     CLOCK_SHIFT_MS=31000 NODE_OPTIONS='--import /…/e2e/shifted-clock.mjs' groundstate serve
 */
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0)
const RealDate = Date

globalThis.Date = class Date extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + shiftMs)
    else super(...parts)
  }

  static now() {
    return RealDate.now() + shiftMs
  }
}
