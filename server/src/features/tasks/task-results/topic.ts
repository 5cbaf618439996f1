/** Wakes the processes that send requests and watch deadlines. */
export const TOPIC = 'task-results'
