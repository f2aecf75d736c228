/**
 * `millrace/jobs`: the methods, their settings, and the pieces that a method of one's own is wired from.
 */
export * from './calibrate.ts';
export * from './defineJob.ts';
export * from './evaluate.ts';
export * from './finetune.ts';
export * from './flywheel.ts';
export * from './lossSettings.ts';
export * from './method.ts';
export * from './plan.ts';
export * from './policyLoop.ts';
export * from './policySettings.ts';
export * from './prefer.ts';
export * from './roles.ts';
export * from './toolLight.ts';
export * from './toolStar.ts';
