/** Why a process can't start, in words for the person who started it: printed without a stack. */
export class StartError extends Error {}
