/**
 * What the run machine asks of run tasks, and all that it knows of them. Every function works in the transaction that
 * moves the run, and holds its workspace.
 */
export { cancelStages, createStages, plannedStages, stageStatuses, startStage } from '../task-stages/service.ts'
