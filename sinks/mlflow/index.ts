/** Metrics to MLflow. */
export { mlflow } from './mlflow.ts';
